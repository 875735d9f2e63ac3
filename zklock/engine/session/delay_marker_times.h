// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>

#include "zklock/core/lock_delay.h"
#include "zklock/core/session.h"

namespace zklock::detail {

/// Records when this client first saw that the holder of a delay marker (core/lock_delay.h) was
/// lost. A lost holder never holds again, and no two markers of a path have the same name. So one
/// time for each marker suffices, and the delay elapses even if no contender waits. If a caller
/// repeats an acquire with a short timeout, it is granted the lock once the delay has passed.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held.
class DelayMarkerTimes {
 public:
  /// Returns the time at which `marker` (its full path) was first seen without its holder. If it is
  /// new, records and returns `now`.
  core::Instant first_seen(const std::string& marker, core::Instant now) {
    // Another client has deleted the marker of such an old record, or no contender waits for it.
    std::erase_if(seen_, [&](const auto& each) {
      return each.first != marker && now - each.second > 2 * core::kLongestLockDelay;
    });
    return seen_.try_emplace(marker, now).first->second;
  }
  /// Deletes the record of a marker that was deleted.
  void forget(const std::string& marker) { seen_.erase(marker); }

 private:
  std::unordered_map<std::string, core::Instant> seen_;
};

}  // namespace zklock::detail
