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

#include "zklock/client/stay_awake.h"
#include "zklock/deadline.h"
#include "zklock/recipes/slices.h"

namespace zklock::recipes {

/// The place where a thread waits for the result of what other threads do.
///
/// Thread-safety: set() from any thread; wait() from one.
template <class Result>
class BlockingCall {
 public:
  void set(Result result) {
    // The waiting thread destroys this object as soon as it can; and it is woken with the mutex
    // free, or it would have to go to sleep on that at once.
    const std::shared_ptr<State> state = state_;
    {
      const std::lock_guard guard(state->mutex);
      state->result.emplace(std::move(result));
    }
    state->wake();
  }

  /// Blocks until there is a result. An interruption point of Boost.Thread: throws
  /// boost::thread_interrupted. For `awake` the thread does not sleep, but lets others run.
  Result wait(std::chrono::microseconds awake = {}) {
    std::unique_lock lock(state_->mutex);
    await(lock, Deadline::never(), awake);
    return std::move(*state_->result);
  }

  /// As wait(), but leaves the result for wait(). Returns false if `deadline` came first.
  bool wait_until(Deadline deadline, std::chrono::microseconds awake = {}) {
    std::unique_lock lock(state_->mutex);
    return await(lock, deadline, awake);
  }

  /// The same, for about `longest` at most: nothing when there is no result until then. For what
  /// must end although nobody may be left to deliver it.
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
             std::chrono::microseconds awake) {
    if (!deadline.is_never()) awake = std::min(awake, time_left(deadline));
    client::stay_awake(
        lock, awake, [this] { return state_->result.has_value(); },
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

  /// Only who can be interrupted sleeps on Boost's condition variable: that one notifies with its own
  /// mutex held, and so the woken thread has to sleep once more.
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
    /// Once there is a result: then nobody begins to sleep.
    void wake() {
      if (interruptible) interruptible->notify_one();
      ready.notify_one();
    }
    boost::condition_variable_any& where_interrupted() {
      return interruptible ? *interruptible : interruptible.emplace();
    }

    std::mutex mutex;
    std::optional<Result> result;  ///< guarded by mutex
    /// The same; constant once there is a result.
    std::optional<boost::condition_variable_any> interruptible;
    std::condition_variable ready;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace zklock::recipes
