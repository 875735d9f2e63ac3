// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/cli/core/duration.h"

namespace zklock::cli {

/// Decides when the processes of a command are ended, so that none of them runs when another
/// contender is granted. zklock and its guardian each have one, with equal inputs.
///
/// The bound is the time until which the lock is certain: Hold::valid_until(). The lead is the time
/// by which a kill may be late. The kill limit is the bound minus the lead: KILL comes then at the
/// latest. TERM comes at the kill limit minus the grace, the time that the command gets to end.
/// KILL follows TERM after at most the grace.
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
/// kill_schedule_test.cpp compares this table with the machine.
///
/// Thread-safety: none; pure.
class KillSchedule {
 public:
  enum class State { unbound, guarded, ending, killing };
  enum class Step { none, term, kill };

  explicit KillSchedule(Duration grace) noexcept : grace_(grace) {}

  /// Returns the time by which a kill may be late: the larger of T/24 and 100 ms. Another contender
  /// is granted no earlier than the bound plus T/48. That is so because the lease ends that long
  /// before the session can expire; see zklock/core/lease_evidence.h.
  static Duration lead_of(Duration session_timeout) noexcept;

  State state() const noexcept { return state_; }

  static Instant kill_limit_of(Instant bound, Duration session_timeout) noexcept {
    return bound - lead_of(session_timeout);
  }

  /// The lock is certain until `bound`. It may be earlier than the last one.
  void on_bound(Instant bound, Duration session_timeout) noexcept {
    on_kill_limit(kill_limit_of(bound, session_timeout));
  }
  /// Does what on_bound() does.
  void on_kill_limit(Instant limit) noexcept;
  /// TERM is due at `at`, if it was not sent yet and is not due earlier.
  void on_end_requested(Instant at) noexcept;
  /// KILL is due now.
  void on_kill_requested(Instant now) noexcept;

  /// Returns how much of the lease must be left when the command is started, so that no signal
  /// comes in a healthy hold. A holder's requests are at most T/8 apart, and the answer may take
  /// T/24. Each request extends the lease if less than 11T/24 is left.
  Duration needed_at_start(Duration session_timeout) const noexcept {
    return lead_of(session_timeout) + grace_ + session_timeout / 6;
  }
  /// Returns whether a process may be started at `now`: there is a bound, and nothing is due.
  bool may_start(Instant now) const noexcept;
  /// Returns what is due at `now`. Returns `term` once. Returns `kill` again at each call, because
  /// new processes can appear until all have ended.
  Step step(Instant now) noexcept;
  /// Returns when step() is to be called next; Instant::max() without a bound. KILL is repeated
  /// each 10 ms at first, and each 250 ms later.
  Instant next_step_time() const noexcept;
  /// Returns when zklock is to read the bound next: each T/40, and each T/800 shortly before a
  /// step. So the guardian gets an extended bound before it acts on the old one.
  Instant next_look(Instant now, Duration session_timeout) const noexcept;
  /// Returns the time at which the last step was due.
  Instant last_step_due() const noexcept { return due_; }

 private:
  Instant kill_time() const noexcept;

  const Duration grace_;
  State state_ = State::unbound;
  Instant kill_limit_ = Instant::max();
  bool sends_term_ = false;  ///< TERM was requested, and is not sent yet
  Instant term_at_{};        ///< when TERM was sent, or is due
  Instant next_kill_{};      ///< while killing
  Instant due_{};
};

}  // namespace zklock::cli
