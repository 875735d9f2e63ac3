// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/core/session.h"
#include "zklock/core/term.h"

namespace zklock::core {

/// The stretch in which one session's lease is valid, shared by all holds granted within it: it is
/// extended while the quorum is heard of, and once it has lapsed it never comes back. Later grants
/// of the same session belong to a new term.
///
/// Thread-safety: all members, from any thread; lock-free.
class LeaseTerm : public Term {
 public:
  explicit LeaseTerm(SessionId session, Instant valid_until) noexcept
      : Term(valid_until), session_(session) {}

  SessionId session() const noexcept { return session_; }

 private:
  const SessionId session_;
};

}  // namespace zklock::core
