// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/turnstile.h"

#include "zklock/recipes/place.h"

namespace zklock::recipes {

void Turnstile::enter(const std::shared_ptr<Place>& place) {
  if (under_way_ < at_once_) {
    place->ask_for_node();
  } else {
    line_.push_back(place);
  }
}

void Turnstile::answered() {
  --under_way_;
  while (under_way_ < at_once_ && !line_.empty()) {
    const auto next = line_.front().lock();
    line_.pop_front();
    if (next && !next->over()) next->ask_for_node();
  }
}

}  // namespace zklock::recipes
