// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "zklock/core/session.h"

namespace zklock::core {

/// One unbroken stretch of validity, shared by all holds granted within it: it is extended while
/// the quorum is heard of, and once it has lapsed it never comes back. Later grants of the same
/// session belong to a new term.
///
/// | state   | question, in time | question, too late | extend           | lapse()  |
/// |---------|-------------------|--------------------|------------------|----------|
/// | valid   | valid             | -> lapsed          | valid, longer    | -> lapsed|
/// | lapsed  | lapsed            | lapsed             | lapsed (refused) | lapsed   |
///
/// Whoever asks too late makes it lapse: nobody can be told "lost" and later "held".
///
/// Thread-safety: all members, from any thread; lock-free.
class LeaseTerm {
 public:
  explicit LeaseTerm(SessionId session, Instant valid_until) noexcept
      : session_(session), valid_until_(valid_until) {}

  SessionId session() const noexcept { return session_; }

  bool valid(Instant now) noexcept {
    Instant until = valid_until_.load(std::memory_order_acquire);
    while (until != lapsed_mark) {
      if (now < until) return true;
      if (valid_until_.compare_exchange_weak(until, lapsed_mark, std::memory_order_acq_rel)) break;
    }
    return false;
  }

  /// False when it has lapsed. Never shortens.
  bool extend(Instant until) noexcept {
    Instant current = valid_until_.load(std::memory_order_acquire);
    while (current != lapsed_mark) {
      if (until <= current) return true;
      if (valid_until_.compare_exchange_weak(current, until, std::memory_order_acq_rel))
        return true;
    }
    return false;
  }

  void lapse() noexcept { valid_until_.store(lapsed_mark, std::memory_order_release); }

  /// Instant::min() when it has lapsed.
  Instant valid_until() const noexcept { return valid_until_.load(std::memory_order_acquire); }

 private:
  static constexpr Instant lapsed_mark = Instant::min();

  const SessionId session_;
  std::atomic<Instant> valid_until_;
};

}  // namespace zklock::core
