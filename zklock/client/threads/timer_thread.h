// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "zklock/client/port/scheduler.h"
#include "zklock/client/threads/owned_thread.h"

namespace zklock::client {

/// Timers on boot_time(). One thread runs their tasks.
///
/// Tasks run in the order of their times; those with equal times in the order of at(). If the
/// process or the machine was suspended, the timers that became due meanwhile run at once
/// afterwards. A time in the upper half of the clock's range, such as Deadline::never(), means
/// never: the timer is not stored. A task that throws terminates the process: all tasks are part of
/// the library.
///
/// REQUIRES: not used in a child of fork(), because the thread exists only in the parent.
///
/// Thread-safety: all members, from any thread, even from a task. A task may also run the
/// destructor. REQUIRES: no member is called during or after the destructor.
class TimerThread final : public Scheduler {
 public:
  /// Starts the thread. `name`: see start_thread(). Throws std::system_error if the system provides
  /// no thread or no file descriptor.
  explicit TimerThread(const char* name = "zklock-timer");
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;
  /// Calls stop().
  ~TimerThread() override;

  core::Instant now() const noexcept override;

  /// Adds a timer. After stop() it drops the task and returns 0.
  TimerId at(core::Instant when, std::function<void()> task) override;

  void cancel(TimerId timer) noexcept override;

  bool is_timer_thread() const noexcept override;

  /// Blocks until no task is due or running. If called by a task, it does not wait: the due tasks
  /// run within the call.
  void wait_idle();

  /// Drops all timers and blocks until a running task has ended. If called by a task, it does not
  /// wait; no other task begins afterwards. A stopped object cannot be started again.
  void stop() noexcept override;

 private:
  struct State;
  const std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
  OwnedThread thread_;
};

}  // namespace zklock::client
