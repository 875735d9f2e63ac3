// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include <boost/container/small_vector.hpp>

#include "zklock/client/port/mutex.h"
#include "zklock/client/port/test_seam.h"
#include "zklock/core/session.h"
#include "zklock/core/thread_annotations.h"
#include "zklock/deadline.h"
#include "zklock/lease_clock.h"

namespace zklock::detail {

class EngineContext;

/// The tasks that code under the engine mutex leaves for the time after the unlock. They call other
/// objects, but no code of the user, and do not block.
///
/// Thread-safety: the engine mutex guards all members but run().
class Outbox {
 public:
  using Task = std::function<void()>;
  /// Most often there is one task.
  using Tasks = boost::container::small_vector<Task, 1>;

  void add(Task task) { tasks_.push_back(std::move(task)); }
  bool is_empty() const noexcept { return tasks_.empty(); }
  /// Removes the tasks and returns them, for run().
  [[nodiscard]] Tasks take() noexcept { return std::exchange(tasks_, {}); }

  /// Runs `tasks` of the client `owner` in order, on this thread. If this thread already runs a
  /// task of that client, the outer run() runs these tasks after its own. That bounds the depth of
  /// the stack. No exception may leave a task. REQUIRES: the mutex is unlocked, and the caller
  /// retains `owner`.
  static void run(const void* owner, Tasks tasks) noexcept;

 private:
  struct Running;

  Tasks tasks_;
};

/// The engine mutex: the mutex of one client, and its outbox. It guards all state of the client's
/// engine, and that of its elections, observers and release requests. Locked by an EngineLock,
/// which any thread may make. "The engine mutex is held" means: the calling thread has an
/// EngineLock of the object's client.
///
/// Clang's analysis cannot know which objects belong to one client, so members that require the
/// mutex are not annotated. assert_held() checks the requirement at the entrances of the classes.
///
/// Thread-safety: any thread may lock it. REQUIRES for after_unlock(): the mutex is held.
class EngineMutex {
 public:
  EngineMutex() noexcept { mutex_.spin_before_sleep(); }  // entries are short
  EngineMutex(const EngineMutex&) = delete;
  EngineMutex& operator=(const EngineMutex&) = delete;

  /// Puts `task` into the outbox. It runs when the EngineLock has ended, on the same thread,
  /// without the mutex, in the order of the calls. If a task makes an EngineLock of that client
  /// again, the tasks added under it run after those already queued.
  void after_unlock(Outbox::Task task) {
    assert_held();
    mutex_.assert_held();  // for Clang's analysis
    outbox_.add(std::move(task));
  }
  void assert_held() const noexcept { assert(client::engine_mutex_held_here == this); }

 private:
  friend class EngineLock;

  client::Mutex mutex_;
  Outbox outbox_ ZKLOCK_GUARDED_BY(mutex_);
};

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
  /// `context`: the client that is entered. `state`: the object whose invariants are asserted, such
  /// as a path or a candidate; null: none. REQUIRES: both exist while the EngineLock does.
  struct Entry {
    EngineContext& context;
    const State* state = nullptr;
  };

  explicit EngineLock(Entry entry);
  /// Unlocks the mutex, and empties the outbox; see EngineMutex::after_unlock().
  ~EngineLock();
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

  /// From now on, an exception may leave the EngineLock. REQUIRES: code that throws has changed
  /// nothing.
  void permit_exceptions() noexcept { permitted_exceptions_ = std::numeric_limits<int>::max(); }

  /// Blocks until `done()` returns true; other threads can enter meanwhile. Returns false if
  /// `deadline` came first, by LeaseClock. Calls `done` with the mutex held: at first, after each
  /// notification of `changed`, and after each `slice`. The slices are needed because the clock of
  /// a condition stops while the computer sleeps. Throws what a wait on `changed` throws. REQUIRES:
  /// the outbox is empty.
  template <class Condition, class Done>
  bool wait(Condition& changed, Deadline deadline, const Done& done,
            core::Duration slice = std::chrono::seconds(1)) {
    if (done()) return true;
    const client::VirtualAlarm alarm(deadline, changed);
    do {
      const auto now = LeaseClock::now();
      if (deadline.has_passed(now)) return false;
      wait_for(changed, client::slice_before(deadline, now, slice));
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
  int permitted_exceptions_;  ///< uncaught exceptions allowed at the exit
};

/// Returns a callback that calls `step(arguments...)` with the engine mutex held. It retains
/// `owner`, which is released without the mutex.
template <class Owner, class Step>
auto under_lock(std::shared_ptr<Owner> owner, Step step) {
  return [owner = std::move(owner), step = std::move(step)](const auto&... arguments) {
    const EngineLock lock(owner->entry());
    step(arguments...);
  };
}

/// Returns a callback that calls `step(arguments...)` with the engine mutex held, while `owner`
/// exists. Afterwards, it does nothing.
template <class Owner, class Step>
auto under_lock(std::weak_ptr<Owner> owner, Step step) {
  return [owner = std::move(owner), step = std::move(step)](const auto&... arguments) {
    const auto alive = owner.lock();  // released after the mutex
    if (!alive) return;
    const EngineLock lock(alive->entry());
    step(arguments...);
  };
}

/// Makes callbacks that are ignored after their activity has ended: a reply, a watch event or a
/// timer can still arrive after it was cancelled.
///
/// Thread-safety: none; most often the engine mutex guards it. REQUIRES: this object exists when a
/// callback is called.
class Epoch {
 public:
  /// Returns a callback that calls `step(arguments...)`. It does nothing after end().
  template <class Step>
  auto guard(Step step) const {
    return [this, epoch = epoch_, step = std::move(step)](const auto&... arguments) {
      if (epoch == epoch_) step(arguments...);
    };
  }
  /// Ends the activity: the callbacks made so far do nothing from now on.
  void end() noexcept { ++epoch_; }

 private:
  std::uint64_t epoch_ = 0;
};

}  // namespace zklock::detail
