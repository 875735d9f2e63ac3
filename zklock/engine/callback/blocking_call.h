// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/date_time/posix_time/posix_time_types.hpp>
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/thread.hpp>

#include "zklock/client/threads/spin_before_block.h"
#include "zklock/deadline.h"
#include "zklock/engine/session/wait_in_slices.h"

namespace zklock::detail {

/// A result that one thread waits for and another thread sets.
///
/// Thread-safety: any thread may call set(). Only one thread may call the wait functions.
template <class Result>
class BlockingCall {
 public:
  void set(Result result) {
    // The waiting thread destroys this object as soon as it can, so the state is shared. It is
    // woken after the mutex was unlocked, or it would have to sleep on the mutex at once.
    const std::shared_ptr<State> state = state_;
    {
      const std::lock_guard guard(state->mutex);
      state->result.emplace(std::move(result));
    }
    state->wake();
  }

  /// Blocks until there is a result, and returns it. For at most `spin`, the thread first spins
  /// (yielding) instead of sleeping. Throws: boost::thread_interrupted (an interruption point).
  Result wait(std::chrono::microseconds spin = {}) {
    std::unique_lock lock(state_->mutex);
    await(lock, Deadline::never(), spin);
    return std::move(*state_->result);
  }

  /// Blocks as wait() does, but leaves the result for wait(). Returns false if `deadline` came
  /// first.
  bool wait_until(Deadline deadline, std::chrono::microseconds spin = {}) {
    std::unique_lock lock(state_->mutex);
    return await(lock, deadline, spin);
  }

  /// Blocks until there is a result, but for about `longest` at most. Returns nothing if there is
  /// no result by then. An interruption point. Used if it is possible that no thread is left to set
  /// the result.
  std::optional<Result> wait_for(std::chrono::milliseconds longest) {
    std::unique_lock lock(state_->mutex);
    await(lock, longest, {});
    return std::move(state_->result);
  }

  Result wait_without_interruption() {
    const boost::this_thread::disable_interruption disabled;
    return wait();
  }

 private:
  static std::chrono::microseconds time_left(Deadline deadline) {
    return std::chrono::ceil<std::chrono::microseconds>(
        slice_before(deadline, LeaseClock::now(), std::chrono::seconds(1)));
  }

  bool await(std::unique_lock<std::mutex>& lock, Deadline deadline,
             std::chrono::microseconds spin) {
    if (!deadline.is_never()) spin = std::min(spin, time_left(deadline));
    client::spin_before_block(
        lock, spin, [this] { return state_->result.has_value(); },
        [] { boost::this_thread::interruption_point(); });
    while (!state_->result) {
      if (deadline.is_never()) {
        state_->sleep(lock);
      } else if (deadline.has_passed(LeaseClock::now())) {
        return false;
      } else {
        state_->sleep(lock, time_left(deadline));
      }
    }
    return true;
  }

  /// A thread sleeps on Boost's condition variable only if it can be interrupted. Boost's notifies
  /// with a mutex of its own held, so the woken thread has to sleep once more.
  struct State {
    void sleep(std::unique_lock<std::mutex>& lock) {
      if (boost::this_thread::interruption_enabled()) {
        where_interrupted().wait(lock);
      } else {
        ready.wait(lock);
      }
    }
    void sleep(std::unique_lock<std::mutex>& lock, std::chrono::microseconds longest) {
      if (boost::this_thread::interruption_enabled()) {
        where_interrupted().timed_wait(lock, boost::posix_time::microseconds(longest.count()));
      } else {
        ready.wait_for(lock, longest);
      }
    }
    /// Wakes the waiting thread. REQUIRES: there is a result, so that no thread begins to sleep.
    void wake() {
      if (interruptible) interruptible->notify_one();
      ready.notify_one();
    }
    boost::condition_variable_any& where_interrupted() {
      return interruptible ? *interruptible : interruptible.emplace();
    }

    std::mutex mutex;
    std::optional<Result> result;  ///< guarded by mutex
    /// Made by an interruptible sleep. Guarded by mutex; constant after there is a result.
    std::optional<boost::condition_variable_any> interruptible;
    std::condition_variable ready;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace zklock::detail
