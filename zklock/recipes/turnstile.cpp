// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/turnstile.h"

#include <algorithm>

#include "zklock/recipes/place.h"

namespace zklock::recipes {

void Turnstile::enter(const std::shared_ptr<Place>& place) {
  if (under_way_ < at_once_) return let_through(*place);
  line_.insert(where(*place), place);
}

void Turnstile::passed() {
  --under_way_;
  while (under_way_ < at_once_ && !line_.empty()) {
    const auto next = std::move(line_.front());
    line_.pop_front();
    let_through(*next);
  }
}

bool Turnstile::withdraw(const Place& place) {
  const auto found = where(place);
  if (found == line_.end() || found->get() != &place) return false;
  line_.erase(found);
  return true;
}

Turnstile::Line::iterator Turnstile::where(const Place& place) {
  return std::ranges::lower_bound(line_, place.number(), {},
                                  [](const auto& each) { return each->number(); });
}

void Turnstile::let_through(Place& place) {
  ++under_way_;
  try {
    place.let_through();
  } catch (...) {
    --under_way_;
    throw;
  }
}

}  // namespace zklock::recipes
