// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "zklock/client/scheduler.h"
#include "zklock/core/session.h"

namespace zklock::model {

using client::TimerId;
using core::Duration;
using core::Instant;

/// To whom a timer belongs: 0 the servers and the test itself, n + 1 the process of client n. The
/// timers of a process can be held, as SIGSTOP does.
using Process = std::size_t;

/// Virtual time. It stands still until the driver moves it; timers due at the same time run in the
/// order of their submission. Timers of a process that is held stay, and are overdue afterwards.
///
/// Thread-safety: none, as everywhere in the model.
class SimClock final : public client::Scheduler {
 public:
  Instant now() const noexcept override { return now_; }
  TimerId at(Instant when, std::function<void()> task) override;
  TimerId at(Process process, Instant when, std::function<void()> task);
  void cancel(TimerId timer) noexcept override;

  /// When the next timer that may run is due: never before now().
  std::optional<Instant> next_due() const noexcept;
  /// Moves to the next timer and runs it. False: there is none.
  bool run_next();
  /// Runs all timers due until `when`, in order, and stands at `when` then.
  void advance_to(Instant when);
  /// Moves to that time, by which no timer is due.
  void stand_at(Instant when) noexcept { now_ = when; }

  void hold(Process process);
  void release(Process process);
  /// No timer is due any more.
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
  std::vector<Timer> timers_;  // the next one is the last
  std::vector<bool> held_;     // by process
};

/// The clock as one simulated process sees it: it may run at another rate than the servers'.
class ProcessClock final : public client::Scheduler {
 public:
  /// `drift`: by how many millionths it is faster.
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

  /// What it shows at a time of the world's.
  Instant shown_at(Instant time) const noexcept;
  /// The first time of the world's at which it shows that, or later.
  Instant showing(Instant shown) const noexcept;

  /// Done at each reading: what another thread does at that moment.
  std::function<void()> when_read;

 private:
  SimClock& clock_;
  Process process_;
  std::int32_t drift_;
};

}  // namespace zklock::model
