// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "zklock/client/scheduler.h"

namespace zklock::client {

/// Timers on LeaseClock, run by one thread, which is started with the first of them.
///
/// Timers that fell due while the process or the machine stood still run at once when it goes on,
/// in the order of their times; equal times in the order of at(). A timer more than half of the
/// clock's range away (Deadline::never()) never fires, and costs nothing. A task that throws
/// terminates the process: tasks are the library's own.
///
/// Not to be used in a fork()ed child: the thread stays in the parent.
///
/// Thread-safety: all members, from any thread, tasks included; destruction as usual, also from a
/// task.
class TimerThread final : public Scheduler {
 public:
  TimerThread();
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;
  /// Same as stop().
  ~TimerThread() override;

  core::Instant now() const noexcept override;

  /// Throws: std::system_error when the first call gets no thread or file descriptor; then there
  /// is no timer. After stop() the task is dropped and the answer is 0.
  TimerId at(core::Instant when, std::function<void()> task) override;

  void cancel(TimerId timer) noexcept override;

  bool runs_here() const noexcept override;

  /// Effects: drops all timers, and waits for a task that is running; from within a task it does
  /// not wait, and no other task is begun after it. Once stopped, always stopped.
  void stop() noexcept;

 private:
  class Timers;
  std::shared_ptr<Timers> timers_;  // shared with the thread, which may outlive this object
};

}  // namespace zklock::client
