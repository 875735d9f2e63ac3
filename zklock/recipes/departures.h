// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace zklock::recipes {

class ClientCore;
class LockEngine;

/// Sees to it that the nodes of those go who have let go and need not do it themselves: another
/// thread does. To wake one takes longer than all else that an unlock() does. So, where holds are
/// brief, one looks by itself, a moment after the grant.
///
/// | state     | event           | next                                                     |
/// |-----------|-----------------|----------------------------------------------------------|
/// | quiet     | expect()        | expecting; quiet, if there is no memory for the timer    |
/// |           | somebody leaves | quiet; the thread that answers is woken, and looks       |
/// | expecting | expect()        | expecting, for no longer                                 |
/// |           | somebody leaves | expecting                                                |
/// |           | the moment ends | quiet; the timer's thread looks                          |
///
/// Thread-safety: all members, from any thread. Part of its client.
class Departures {
 public:
  /// For so long a node may stay that hardly anybody waits for: less than a server takes to answer.
  static constexpr std::chrono::microseconds moment{200};

  explicit Departures(ClientCore& core) : core_(core) {}

  /// Somebody is likely to let go within a moment.
  void expect() noexcept;
  /// Somebody has let go there. No Section.
  void from(const std::shared_ptr<LockEngine>& engine) noexcept;

 private:
  void stop_expecting() noexcept;
  void look() noexcept;

  ClientCore& core_;
  std::mutex mutex_;
  // guarded by mutex_
  bool expecting_ = false;
  std::vector<std::weak_ptr<LockEngine>> engines_;  ///< left since the last look
};

}  // namespace zklock::recipes
