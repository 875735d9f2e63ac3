// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>

#include "zklock/core/session.h"

namespace zklock::client {

/// Returns the time of CLOCK_BOOTTIME. LeaseClock returns it too, except in tests with virtual
/// time. Code that measures the real world reads it here: timers, requests to servers.
inline core::Instant boot_time() noexcept {
  std::timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return core::Instant(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

enum class TimerId : std::uint64_t {};  // 0: none

/// The clock and the timers. Tests replace them, as they replace the Coordinator.
///
/// Thread-safety: all members, from any thread.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual core::Instant now() const noexcept = 0;
  /// Calls `task` once, at `when` or soon after, with no lock held, never from within at(). The
  /// thread must not be blocked. Tasks run in the order of their times. Returns the id of the
  /// timer.
  virtual TimerId at(core::Instant when, std::function<void()> task) = 0;
  /// Cancels a timer: its task will not be called any more. A task that has begun may still be
  /// running.
  virtual void cancel(TimerId timer) noexcept = 0;
  /// Returns whether the calling thread runs a task. The default is right if Client::close() waits
  /// for no thread of the scheduler.
  virtual bool is_timer_thread() const noexcept { return false; }
  /// Drops all timers and blocks until a running task has ended, unless that task calls it. No task
  /// begins afterwards.
  virtual void stop() noexcept {}
};

}  // namespace zklock::client
