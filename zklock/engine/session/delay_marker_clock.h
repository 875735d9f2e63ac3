// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>

#include "zklock/client/port/mutex.h"
#include "zklock/core/session.h"

namespace zklock::detail {

/// Records when this client first saw that the holder of a delay marker (core/lock_delay.h) was
/// lost. A lost holder never holds again, and no two markers of a path have the same name. So the
/// delay elapses from then on, whether or not a contender waits. A caller can repeat an acquire
/// whose timeout is shorter than the delay, and is granted the lock after the delay.
///
/// Thread-safety: all members, from any thread.
class DelayMarkerClock {
 public:
  /// Returns when `marker` (its full path) was first seen. If it is new, records and returns `now`.
  core::Instant first_seen(const std::string& marker, core::Instant now);
  /// Deletes the record of a marker that was deleted.
  void forget(const std::string& marker);

 private:
  client::Mutex mutex_;
  std::unordered_map<std::string, core::Instant> seen_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::detail
