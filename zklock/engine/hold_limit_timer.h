// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "zklock/client/port/scheduler.h"
#include "zklock/core/hold_limit.h"
#include "zklock/core/validity_period.h"

namespace zklock::detail {

/// The end of a hold by its hold limit (core::HoldLimit). The clock decides whether the limit has
/// passed. Timers call `look`, which reads the clock, at the warning and at the end.
///
/// Thread-safety: any thread may call check() and valid_until(). REQUIRES for the other members:
/// the engine mutex is held. Part of its Grant.
class HoldLimitTimer {
 public:
  /// The limit counts from now. Without a limit, `look` can be empty.
  HoldLimitTimer(client::Scheduler& scheduler, core::HoldLimit limit, std::function<void()> look);

  /// Returns whether the limit has not passed at `now`. See ValidityPeriod::check().
  bool check(core::Instant now) noexcept { return period_.check(now); }
  /// Returns whether there is a limit now.
  bool is_limited() const noexcept { return limit_.longest.has_value(); }
  /// Returns the end; Instant::max() without a limit, Instant::min() after the end.
  core::Instant valid_until() const noexcept { return period_.valid_until(); }

  /// Makes the limit count from now. If `length` is set, it replaces the limit. `look` replaces the
  /// earlier function. Returns false, without an effect, if the limit has passed.
  bool renew(std::optional<core::Duration> length, std::function<void()> look);
  /// Returns whether the warning is due, and records it as reported. So it returns true at most
  /// once after the constructor and after each renew().
  bool take_warning(core::Instant now) noexcept;
  /// Cancels the timers.
  void stop() noexcept;

 private:
  void begin(core::Instant now);

  client::Scheduler& scheduler_;
  std::function<void()> look_;  ///< empty: no limit so far
  core::HoldLimit limit_;
  core::ValidityPeriod period_;
  core::Instant warning_;  ///< Instant::max(): none, or already reported
  client::TimerId warning_timer_{};
  client::TimerId end_timer_{};
};

}  // namespace zklock::detail
