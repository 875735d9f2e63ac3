// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "zklock/core/session.h"

namespace zklock::core {

/// One period of validity. Its end may be moved, later or earlier, until it has passed.
///
/// | state   | question, in time | question, too late | extend, renew, limit | lapse()  |
/// |---------|-------------------|--------------------|----------------------|----------|
/// | valid   | valid             | -> lapsed          | valid                | -> lapsed|
/// | lapsed  | lapsed            | lapsed             | lapsed (refused)     | lapsed   |
///
/// Whoever asks too late makes it lapse: nobody can be told "over" and later "valid".
///
/// Thread-safety: all members, from any thread; lock-free.
class Term {
 public:
  explicit Term(Instant valid_until) noexcept : valid_until_(valid_until) {}

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

  /// Ends the term at `until` if it would end later, and returns whether it did. A lapsed term stays
  /// as it is.
  bool limit(Instant until) noexcept {
    Instant current = valid_until_.load(std::memory_order_acquire);
    while (until < current) {
      if (valid_until_.compare_exchange_weak(current, until, std::memory_order_acq_rel))
        return true;
    }
    return false;
  }

  /// False when it has lapsed, or is over at `now`. May shorten.
  bool renew(Instant now, Instant until) noexcept {
    Instant current = valid_until_.load(std::memory_order_acquire);
    while (current != lapsed_mark) {
      const bool in_time = now < current;
      const Instant next = in_time ? until : lapsed_mark;
      if (valid_until_.compare_exchange_weak(current, next, std::memory_order_acq_rel))
        return in_time;
    }
    return false;
  }

  void lapse() noexcept { valid_until_.store(lapsed_mark, std::memory_order_release); }

  /// Instant::min() when it has lapsed.
  Instant valid_until() const noexcept { return valid_until_.load(std::memory_order_acquire); }

 private:
  static constexpr Instant lapsed_mark = Instant::min();

  std::atomic<Instant> valid_until_;
};

}  // namespace zklock::core
