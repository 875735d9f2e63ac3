// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "zklock/core/session.h"

namespace zklock::recipes {

/// When this client first saw of a marker (core/lock_delay.h) that its holder was gone. Who is lost
/// does not come back, and no two markers of a path have one name: so from then on the delay passes
/// whether or not anybody waits, and whoever asks again and again, for less time than that, is
/// granted the lock in the end.
///
/// Thread-safety: all members, from any thread.
class LossSightings {
 public:
  /// Now, unless it was before. `marker`: the full path.
  core::Instant first_seen(const std::string& marker, core::Instant now);
  /// It was removed.
  void forget(const std::string& marker);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, core::Instant> seen_;  // guarded by mutex_
};

}  // namespace zklock::recipes
