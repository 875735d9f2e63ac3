// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cassert>

#include "zklock/core/session.h"

namespace zklock::core {

/// One period of validity. Until it lapses, its end may be moved, later or earlier.
///
/// | state  | check(), renew() in time | check(), renew() late | extend(), limit() | lapse()   |
/// |--------|--------------------------|-----------------------|-------------------|-----------|
/// | valid  | valid                    | -> lapsed             | valid             | -> lapsed |
/// | lapsed | lapsed (refused)         | lapsed (refused)      | lapsed (refused)  | lapsed    |
///
/// A check() that is too late makes the period lapse. So no caller gets `false` first and `true`
/// later. extend() does not read the time: it may move an end that has passed but was not checked.
///
/// Thread-safety: all members may be called by any thread; lock-free.
class ValidityPeriod {
 public:
  explicit ValidityPeriod(Instant valid_until) noexcept : valid_until_(valid_until) {}

  /// Returns whether the period is valid at `now`. Makes it lapse if it has ended.
  bool check(Instant now) noexcept {
    Instant until = valid_until_.load(std::memory_order_acquire);
    while (until != kLapsedMark) {
      if (now < until) return true;
      if (valid_until_.compare_exchange_weak(until, kLapsedMark, std::memory_order_acq_rel)) break;
    }
    assert(valid_until() == kLapsedMark);
    return false;
  }

  /// Moves the end to `until` if that is later. Returns false if the period has lapsed.
  bool extend(Instant until) noexcept {
    Instant current = valid_until_.load(std::memory_order_acquire);
    while (current != kLapsedMark) {
      if (until <= current) return true;
      if (valid_until_.compare_exchange_weak(current, until, std::memory_order_acq_rel))
        return true;
    }
    return false;
  }

  /// Moves the end to `until` if that is earlier, and returns whether it did. Does not change a
  /// lapsed period.
  bool limit(Instant until) noexcept {
    Instant current = valid_until_.load(std::memory_order_acquire);
    while (until < current) {
      if (valid_until_.compare_exchange_weak(current, until, std::memory_order_acq_rel))
        return true;
    }
    return false;
  }

  /// Moves the end to `until`, later or earlier, and returns true. If the period has ended at
  /// `now`, makes it lapse instead. Returns false if it has lapsed.
  bool renew(Instant now, Instant until) noexcept {
    Instant current = valid_until_.load(std::memory_order_acquire);
    while (current != kLapsedMark) {
      const bool in_time = now < current;
      const Instant next = in_time ? until : kLapsedMark;
      if (valid_until_.compare_exchange_weak(current, next, std::memory_order_acq_rel))
        return in_time;
    }
    return false;
  }

  void lapse() noexcept { valid_until_.store(kLapsedMark, std::memory_order_release); }

  /// Returns the end; Instant::min() if the period has lapsed.
  Instant valid_until() const noexcept { return valid_until_.load(std::memory_order_acquire); }

 private:
  static constexpr Instant kLapsedMark = Instant::min();

  std::atomic<Instant> valid_until_;
};

/// One lease of a session: the time for which the session is certain to be alive. All holds granted
/// in that time share it. Quorum answers extend it. A reconnect with a shorter session timeout may
/// shorten it. A lapsed lease never becomes valid again; later grants of the session belong to a
/// new lease.
///
/// Thread-safety: all members may be called by any thread; lock-free.
class Lease : public ValidityPeriod {
 public:
  explicit Lease(SessionId session, Instant valid_until) noexcept
      : ValidityPeriod(valid_until), session_(session) {}

  SessionId session() const noexcept { return session_; }

 private:
  const SessionId session_;
};

}  // namespace zklock::core
