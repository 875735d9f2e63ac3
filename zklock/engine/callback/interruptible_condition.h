// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>

#include "zklock/client/port/mutex.h"

namespace boost {
class condition_variable_any;
}

namespace zklock::detail {

/// A condition variable whose waits are interruption points of Boost.Thread. Each wait can end
/// early without a notification, so it belongs in a loop that checks the condition. The headers of
/// Boost.Thread take a second to compile, so only the source of this class includes them.
///
/// A thread sleeps on Boost's condition variable only if it can be interrupted. That is slower:
/// Boost notifies with a mutex of its own held, for which the woken thread has to wait again.
///
/// Thread-safety: all members, from any thread. REQUIRES: all waits are with one mutex.
class InterruptibleCondition {
 public:
  InterruptibleCondition() = default;
  InterruptibleCondition(const InterruptibleCondition&) = delete;
  InterruptibleCondition& operator=(const InterruptibleCondition&) = delete;
  ~InterruptibleCondition();

  void notify_one() noexcept;
  void notify_all() noexcept;

  /// Blocks until a notification. Throws boost::thread_interrupted.
  void wait(client::Mutex& mutex) ZKLOCK_REQUIRES(mutex);
  /// Does what wait() does, for at most `longest`.
  void wait_for(client::Mutex& mutex, std::chrono::microseconds longest) ZKLOCK_REQUIRES(mutex);
  /// Does what wait() does, but is no interruption point.
  void wait_without_interruption(client::Mutex& mutex) noexcept ZKLOCK_REQUIRES(mutex) {
    condition_.wait(mutex);
  }

 private:
  /// Makes Boost's condition variable at the first call. REQUIRES: the mutex of the waits is held.
  boost::condition_variable_any& interruptible();

  client::Condition condition_;
  /// Null until a thread that can be interrupted waits.
  std::atomic<boost::condition_variable_any*> interruptible_{nullptr};
};

}  // namespace zklock::detail
