// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "zklock/client/port/mutex.h"
#include "zklock/client/port/test_seam.h"
#include "zklock/deadline.h"
#include "zklock/engine/callback/interruptible_condition.h"

namespace zklock::detail {

/// A result that one thread waits for and another thread sets.
///
/// Thread-safety: any thread may call set(). Only one thread may call the wait functions.
template <class Result>
class BlockingCall {
 public:
  void set(Result result) {
    // The waiting thread destroys this object as soon as it can, so the state is shared. The thread
    // is woken after the mutex was unlocked. Otherwise it would have to wait for the mutex at once.
    const std::shared_ptr<State> state = state_;
    {
      const client::MutexLock guard(state->mutex);
      state->result.emplace(std::move(result));
    }
    state->ready.notify_one();
  }

  /// Blocks until there is a result, and returns it. Throws: boost::thread_interrupted (an
  /// interruption point).
  Result wait() { return *wait_until(Deadline::never()); }

  /// Blocks as wait() does. Returns std::nullopt if `deadline` came first. Unlike wait(), it also
  /// ends if no thread sets a result.
  std::optional<Result> wait_until(Deadline deadline) {
    const client::MutexLock guard(state_->mutex);
    await(deadline);
    return std::move(state_->result);
  }

  /// Blocks until there is a result, or until `deadline`. Returns whether there is one. It stays
  /// until another wait function returns it. Throws: boost::thread_interrupted.
  bool wait_for_result(Deadline deadline) {
    const client::MutexLock guard(state_->mutex);
    await(deadline);
    return state_->result.has_value();
  }

  Result wait_without_interruption() {
    const client::MutexLock guard(state_->mutex);
    while (!state_->result) state_->ready.wait_without_interruption(state_->mutex);
    return *std::move(state_->result);
  }

 private:
  static std::chrono::microseconds time_left(Deadline deadline) {
    return std::chrono::ceil<std::chrono::microseconds>(
        client::slice_before(deadline, LeaseClock::now(), std::chrono::seconds(1)));
  }

  void await(Deadline deadline) ZKLOCK_REQUIRES(state_->mutex) {
    if (deadline.is_never()) {
      while (!state_->result) state_->ready.wait(state_->mutex);
      return;
    }
    if (state_->result) return;
    const client::VirtualAlarm alarm(deadline, state_->ready);
    while (!state_->result && !deadline.has_passed(LeaseClock::now())) {
      state_->ready.wait_for(state_->mutex, time_left(deadline));
    }
  }

  struct State {
    client::Mutex mutex;
    std::optional<Result> result ZKLOCK_GUARDED_BY(mutex);
    InterruptibleCondition ready;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace zklock::detail
