// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

namespace zklock::bench {

/// What the threads of a process have to do to pass a lock on, first come first served: the next is
/// woken, and no other. Without ZooKeeper, and so the floor of what one process does for itself.
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
    next.turn.notify_one();  // while it cannot go
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
