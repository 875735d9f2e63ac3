// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/core/duration.h"

namespace zklock::cli {

/// Decides when the processes of a command are ended, so that none of them runs when another
/// contender is granted. zklock and its guardian each have one, with equal inputs.
///
/// The bound is the time until which the lock is certain: Hold::valid_until(). The lead is the time
/// by which a kill may be late. TERM comes at the bound minus lead and grace, KILL at the bound
/// minus lead. KILL follows TERM after at most the grace, the time that the command gets to end.
///
/// | state   | input             | condition                     | next    |
/// |---------|-------------------|-------------------------------|---------|
/// | unbound | on_bound          |                               | guarded |
/// |         | on_end_requested  |                               | ending  |
/// |         | on_kill_requested |                               | killing |
/// | guarded | on_bound          |                               | guarded |
/// |         | on_end_requested  |                               | ending  |
/// |         | on_kill_requested |                               | killing |
/// |         | step              | KILL is due                   | killing |
/// |         |                   | TERM is due                   | ending  |
/// | ending  | on_bound          |                               | ending  |
/// |         | on_kill_requested |                               | killing |
/// |         | step              | KILL is due                   | killing |
/// | killing |                   |                               | (final) |
///
/// end_plan_test.cpp compares this table with the machine.
///
/// Thread-safety: none; pure.
class EndPlan {
 public:
  enum class State { unbound, guarded, ending, killing };
  enum class Step { none, term, kill };

  explicit EndPlan(Duration grace) noexcept : grace_(grace) {}

  /// Returns the time by which a kill may be late: the larger of T/24 and 100 ms. Another contender
  /// is granted no earlier than the bound plus T/48. That is so because the lease ends that long
  /// before the session can expire; see zklock/core/lease_evidence.h.
  static Duration lead_of(Duration session_timeout) noexcept;

  State state() const noexcept { return state_; }

  /// The lock is certain until `bound`. It may be earlier than the last one.
  void on_bound(Instant bound, Duration session_timeout) noexcept;
  /// TERM is due now, if it was not sent yet.
  void on_end_requested(Instant now) noexcept;
  /// KILL is due now.
  void on_kill_requested(Instant now) noexcept;

  /// Returns whether a process may be started at `now`: there is a bound, and nothing is due.
  bool may_start(Instant now) const noexcept;
  /// Returns what is due at `now`. Returns `term` once. Returns `kill` again at each call, because
  /// new processes can appear until all have ended.
  Step step(Instant now) noexcept;
  /// Returns when step() is due next. Instant::max() without a bound, Instant::min() while killing.
  Instant next() const noexcept;
  /// Returns when the last step was due.
  Instant due() const noexcept { return due_; }

 private:
  Instant kill_time() const noexcept;

  const Duration grace_;
  State state_ = State::unbound;
  Instant bound_ = Instant::max();
  Duration lead_{};
  bool sends_term_ = false;  ///< TERM was requested, and is not sent yet
  Instant term_at_{};        ///< when TERM was sent or requested
  Instant due_{};
};

}  // namespace zklock::cli
