// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "zklock/client/scheduler.h"
#include "zklock/core/hold_limit.h"
#include "zklock/core/term.h"

namespace zklock::recipes {

class Contender;

/// The end of a hold's agreed time: the clock decides whether it has come, and timers see to it that
/// the contender looks at the clock then, and when it is to be told before.
///
/// Thread-safety: valid() and at() from any thread; the others within a Section of the engine. Part
/// of its contender.
class Expiry {
 public:
  /// The time begins now.
  Expiry(Contender& contender, core::HoldLimit limit);

  bool valid(core::Instant now) noexcept { return term_.valid(now); }
  /// Instant::max() when it is not limited; Instant::min() when it is over.
  core::Instant at() const noexcept { return term_.valid_until(); }

  /// Begins anew, from now on with `length`, if it is given. False when it is over.
  bool renew(std::optional<core::Duration> length);
  /// Whether the warning is due now; true once for each time.
  bool warns(core::Instant now) noexcept;
  /// No more timers.
  void stop() noexcept;

 private:
  void begin(core::Instant now);

  Contender& contender_;
  core::HoldLimit limit_;
  core::Term term_;
  core::Instant warning_;  ///< Instant::max(): none, or told
  client::TimerId warning_timer_{};
  client::TimerId end_timer_{};
};

}  // namespace zklock::recipes
