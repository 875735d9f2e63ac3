// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

namespace zklock::bench {

/// A first-come-first-served lock of one process, without ZooKeeper. A release wakes only the next
/// thread. It is the floor for local hand-offs.
///
/// Thread-safety: all members, from any thread.
class FifoLock {
 public:
  void lock() {
    Waiting self;
    std::unique_lock guard(mutex_);
    if (!held_) {
      held_ = true;
      return;
    }
    queue_.push_back(&self);
    self.turn.wait(guard, [&self] { return self.is_next; });
  }

  void unlock() {
    const std::lock_guard guard(mutex_);
    if (queue_.empty()) {
      held_ = false;
      return;
    }
    Waiting& next = *queue_.front();
    queue_.pop_front();
    next.is_next = true;
    next.turn.notify_one();  // under the lock, so that it still exists
  }

 private:
  struct Waiting {
    std::condition_variable turn;
    bool is_next = false;
  };

  std::mutex mutex_;
  // guarded by mutex_
  std::deque<Waiting*> queue_;
  bool held_ = false;
};

}  // namespace zklock::bench
