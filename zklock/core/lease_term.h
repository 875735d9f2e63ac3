// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/core/session.h"
#include "zklock/core/term.h"

namespace zklock::core {

/// The time in which one session's lease is valid, shared by all holds that were granted within it. The
/// quorum's answers extend it; a reconnect with a shorter session timeout may end it earlier. Once it
/// has lapsed it stays so, and later grants of the session belong to a new term.
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
