// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>

#include "zklock/client/port/mutex.h"

namespace zklock::testing::detail {

/// The right to let time pass. Threads get it in the order of their calls.
///
/// Thread-safety: all members, from any thread.
class DriverQueue {
 public:
  /// Blocks until the caller has the right. Returns false, without it, if the thread that has it
  /// makes no progress for `longest`. 0: waits for ever.
  [[nodiscard]] bool enter(std::chrono::milliseconds longest) {
    const client::MutexLock guard(mutex_);
    const std::uint64_t ticket = ++last_ticket_;
    tickets_.push_back(ticket);
    auto seen = progress_;
    auto until = std::chrono::steady_clock::now() + longest;
    while (tickets_.front() != ticket) {
      if (longest == std::chrono::milliseconds(0)) {
        changed_.wait(mutex_);
        continue;
      }
      changed_.wait_until(mutex_, until);
      if (std::chrono::steady_clock::now() < until || tickets_.front() == ticket) continue;
      if (seen == progress_) {
        std::erase(tickets_, ticket);
        return false;
      }
      seen = progress_;
      until = std::chrono::steady_clock::now() + longest;
    }
    return true;
  }
  /// Blocks until no other thread has the right or waits for it.
  void enter_last() {
    const client::MutexLock guard(mutex_);
    while (!tickets_.empty()) changed_.wait(mutex_);
    tickets_.push_back(++last_ticket_);
  }
  /// REQUIRES: the caller has the right.
  void leave() noexcept {
    const client::MutexLock guard(mutex_);
    tickets_.pop_front();
    ++progress_;
    changed_.notify_all();
  }
  /// Shows the waiting threads that the caller makes progress. REQUIRES: it has the right.
  void add_progress() noexcept {
    const client::MutexLock guard(mutex_);
    ++progress_;
  }

 private:
  client::Mutex mutex_;
  client::Condition changed_;
  std::deque<std::uint64_t> tickets_ ZKLOCK_GUARDED_BY(mutex_);  ///< the first has the right
  std::uint64_t last_ticket_ ZKLOCK_GUARDED_BY(mutex_) = 0;
  std::uint64_t progress_ ZKLOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace zklock::testing::detail
