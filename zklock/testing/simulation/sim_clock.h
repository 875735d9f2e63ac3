// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "zklock/client/port/scheduler.h"
#include "zklock/core/session.h"

namespace zklock::model {

using client::TimerId;
using core::Duration;
using core::Instant;

/// The owner of a timer. 0 stands for the ensemble and the test itself, n + 1 for the process of
/// client n. The timers of a process can be held, as SIGSTOP does.
using Process = std::size_t;

/// Virtual time, which only the driver advances. Timers due at an equal time run in the order of
/// their submission. The timers of a held process do not run. After release() they are overdue.
///
/// Thread-safety: none, like the whole model.
class SimClock final : public client::Scheduler {
 public:
  Instant now() const noexcept override { return now_; }
  TimerId at(Instant when, std::function<void()> task) override;
  TimerId at(Process process, Instant when, std::function<void()> task);
  void cancel(TimerId timer) noexcept override;

  /// Returns the due time of the next timer of a process that is not held. An overdue timer is due
  /// now.
  std::optional<Instant> next_due() const noexcept;
  /// Advances to the next timer and runs it. Returns false if there is none.
  bool run_next();
  /// Runs all timers due until `when`, in order, and advances to `when`.
  void advance_to(Instant when);
  /// Advances to `when`. REQUIRES: no timer is due by then.
  void stand_at(Instant when) noexcept { now_ = when; }

  void hold(Process process);
  void release(Process process);
  /// Removes all timers.
  void clear();
  std::size_t pending() const noexcept { return timers_.size(); }

 private:
  struct Timer {
    Instant when;
    TimerId id;
    Process process;
    std::function<void()> task;
  };
  bool is_held(Process process) const noexcept { return process < held_.size() && held_[process]; }
  const Timer* next() const noexcept;

  Instant now_{std::chrono::hours(1)};  // so that tests can look back without going negative
  std::uint64_t last_id_ = 0;
  std::vector<Timer> timers_;  // sorted: the next timer is the last element
  std::vector<bool> held_;     // index: the process
};

/// The clock of one simulated process. Its rate can differ from that of the ensemble's clock.
class ProcessClock final : public client::Scheduler {
 public:
  /// `drift`: the millionths by which this clock is faster.
  ProcessClock(SimClock& clock, Process process, std::int32_t drift = 0) noexcept
      : clock_(clock), process_(process), drift_(drift) {}
  Instant now() const noexcept override {
    if (when_read) when_read();
    return shown_at(clock_.now());
  }
  TimerId at(Instant when, std::function<void()> task) override {
    return clock_.at(process_, showing(when), std::move(task));
  }
  void cancel(TimerId timer) noexcept override { clock_.cancel(timer); }

  /// Returns the value that this clock shows at a time of the SimClock.
  Instant shown_at(Instant time) const noexcept;
  /// Returns the first time of the SimClock at which this clock shows `shown` or more.
  Instant showing(Instant shown) const noexcept;

  /// Called at each reading. It simulates an action of another thread at that moment.
  std::function<void()> when_read;

 private:
  SimClock& clock_;
  Process process_;
  std::int32_t drift_;
};

}  // namespace zklock::model
