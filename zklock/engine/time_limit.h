// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/core/session.h"
#include "zklock/deadline.h"

namespace zklock::detail {

/// How long a call may wait: until a deadline, without end, or not at all. A call that may not wait
/// is a single attempt. The public call decides this with one reading of the clock, and every later
/// step uses that decision. A deadline that passes later does not make the call a single attempt.
///
/// Thread-safety: a value.
class TimeLimit {
 public:
  /// The limit of a call that begins `now`: a single attempt if `deadline` has passed already.
  TimeLimit(Deadline deadline, core::Instant now) noexcept
      : waits_(!deadline.has_passed(now)), deadline_(waits_ ? deadline : Deadline::never()) {}
  static TimeLimit endless() noexcept { return TimeLimit(true); }
  static TimeLimit single_attempt() noexcept { return TimeLimit(false); }

  /// Returns whether the call may wait for other contenders. False: it is a single attempt.
  bool waits() const noexcept { return waits_; }
  bool is_endless() const noexcept { return waits_ && deadline_.is_never(); }
  /// Returns never() for a single attempt: it ends when the servers have answered.
  Deadline deadline() const noexcept { return deadline_; }
  /// Returns whether the call may still wait at `now`. Returns false for a single attempt.
  bool may_wait(core::Instant now) const noexcept { return waits_ && !deadline_.has_passed(now); }

 private:
  explicit TimeLimit(bool waits) noexcept : waits_(waits) {}

  bool waits_;
  Deadline deadline_;
};

}  // namespace zklock::detail
