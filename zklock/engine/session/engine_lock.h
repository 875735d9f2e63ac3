// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <limits>

#include "zklock/client/port/mutex.h"
#include "zklock/client/port/test_seam.h"
#include "zklock/core/session.h"
#include "zklock/deadline.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/engine_mutex.h"
#include "zklock/engine/session/wait_slice.h"
#include "zklock/lease_clock.h"

namespace zklock::detail {

/// Holds the engine mutex of a client while it exists. Calls, replies, watch events, session events
/// and timers enter the client's engine only by it.
///
/// If asserts are on, it asserts the invariants of Entry::state when it begins and when it ends. So
/// transitions are checked at entry and exit.
///
/// If an exception leaves it, the process terminates, because the state may be half changed. So no
/// code under the mutex handles a failed allocation. Two kinds of exceptions may leave it: those
/// after permit_exceptions(), and those that wait() throws.
///
/// Thread-safety: none. A thread has one at most.
class EngineLock {
 public:
  /// State with invariants that is guarded by the mutex.
  class State {
   public:
    virtual void assert_invariants() const noexcept = 0;

   protected:
    ~State() = default;
  };
  /// `core`: the client that is entered. `state`: the object whose invariants are asserted, such as a
  /// path or a candidate; null: none. REQUIRES: both exist while the EngineLock does.
  struct Entry {
    EngineContext& core;
    const State* state = nullptr;
  };

  explicit EngineLock(Entry entry);
  /// Unlocks the mutex, and runs the deferred tasks; see EngineMutex::after_unlock().
  ~EngineLock();
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

  /// From now on, an exception may leave the EngineLock: the code under it changes nothing, or all.
  void permit_exceptions() noexcept { exceptions_ = std::numeric_limits<int>::max(); }

  /// Blocks until `done()` returns true; other threads can enter meanwhile. Returns false if
  /// `deadline` came first, by LeaseClock. Calls `done` with the mutex held: at first, after each
  /// notification of `changed`, and at least each `slice`. A clock of a condition stands still while
  /// the machine is suspended, and LeaseClock does not. Throws what a wait on `changed` throws.
  /// REQUIRES: no task is deferred.
  template <class Condition, class Done>
  bool wait(Condition& changed, Deadline deadline, const Done& done,
            core::Duration slice = std::chrono::seconds(1)) {
    if (done()) return true;
    const client::VirtualAlarm alarm(deadline, changed);
    do {
      const auto now = LeaseClock::now();
      if (deadline.has_passed(now)) return false;
      wait_for(changed, slice_before(deadline, now, slice));
    } while (!done());
    return true;
  }

 private:
  template <class Condition>
  void wait_for(Condition& changed, core::Duration longest) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
    client::Mutex& mutex = before_wait();
    try {
      changed.wait_for(mutex, std::chrono::ceil<std::chrono::microseconds>(longest));
    } catch (...) {  // boost::thread_interrupted: nothing is half changed
      permit_exceptions();
      after_wait();
      throw;
    }
    after_wait();
  }
  client::Mutex& before_wait() noexcept;
  void after_wait() noexcept;

  const Entry entry_;
  int exceptions_;  ///< more of them terminate the process
};

}  // namespace zklock::detail
