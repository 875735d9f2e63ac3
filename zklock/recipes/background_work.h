// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>

#include "zklock/client/scheduler.h"
#include "zklock/deadline.h"

namespace zklock::recipes {

/// What goes on after the caller has gone: releases and withdrawals not yet confirmed.
///
/// Thread-safety: all members, from any thread.
class BackgroundWork {
 public:
  enum class Id : std::uint64_t {};  ///< 0: none

  Id begin();
  void end(Id id) noexcept;
  /// Blocks until all that had begun before the call has ended; false when `deadline` came first.
  bool wait(Deadline deadline);
  bool idle() const;
  /// All of it has ended with the session; what has not said so will not, nor what begins now.
  void close() noexcept;

 private:
  mutable std::mutex mutex_;
  // guarded by mutex_
  std::condition_variable ended_;
  std::uint64_t last_ = 0;
  bool closed_ = false;
  std::set<std::uint64_t> under_way_;
};

}  // namespace zklock::recipes
