// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/delay_marker_clock.h"

#include "zklock/core/lock_delay.h"

namespace zklock::detail {

core::Instant DelayMarkerClock::first_seen(const std::string& marker, core::Instant now) {
  // Another client has deleted the marker of such an old record, or no contender waits for it.
  std::erase_if(seen_, [&](const auto& each) {
    return each.first != marker && now - each.second > 2 * core::kLongestLockDelay;
  });
  return seen_.try_emplace(marker, now).first->second;
}

void DelayMarkerClock::forget(const std::string& marker) {
  seen_.erase(marker);
}

}  // namespace zklock::detail
