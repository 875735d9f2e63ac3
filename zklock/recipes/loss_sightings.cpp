// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/loss_sightings.h"

#include "zklock/core/lock_delay.h"

namespace zklock::recipes {

core::Instant LossSightings::first_seen(const std::string& marker, core::Instant now) {
  const std::lock_guard guard(mutex_);
  // The markers are gone by then, if anybody wanted the lock.
  std::erase_if(
      seen_, [now](const auto& each) { return now - each.second > 2 * core::longest_lock_delay; });
  return seen_.try_emplace(marker, now).first->second;
}

}  // namespace zklock::recipes
