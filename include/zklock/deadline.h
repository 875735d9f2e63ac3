// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>

#include "zklock/lease_clock.h"

namespace zklock {

/// std::chrono::duration and its like (boost::chrono::duration).
template <class D>
concept DurationLike = requires(const D d) {
  typename D::rep;
  D::period::num;
  D::period::den;
  static_cast<long double>(d.count());
};

/// std::chrono::time_point and its like (boost::chrono::time_point).
template <class T>
concept TimePointLike = requires(const T t) {
  { t.time_since_epoch() } -> DurationLike;
  { T::clock::now().time_since_epoch() } -> DurationLike;
};

/// A time point of any clock but LeaseClock.
template <class T>
concept ForeignTimePoint = TimePointLike<T> && !std::same_as<T, LeaseClock::time_point>;

/// The moment by which a whole call is to end. One type for "after 5 s", "at 14:00" and "never":
/// @code
///   mutex.acquire({.deadline = 5s});
///   mutex.acquire({.deadline = std::chrono::steady_clock::now() + 5s});
///   mutex.acquire({.deadline = Deadline::never()});   // the default
/// @endcode
/// Durations and foreign time points are turned into a point of LeaseClock when the Deadline is
/// made; later jumps of a wall clock have no effect. Negative durations have passed already;
/// durations too long to be represented are never(). Source: absl::Time and absl::SynchWaitParams.
///
/// Thread-safety: a value.
class Deadline {
 public:
  using time_point = LeaseClock::time_point;

  /// Never passes.
  constexpr Deadline() noexcept = default;
  static constexpr Deadline never() noexcept { return {}; }
  /// Has passed already: a single attempt without waiting.
  static constexpr Deadline passed() noexcept { return Deadline(time_point::min()); }

  constexpr Deadline(time_point at) noexcept : at_(at) {}  // NOLINT(google-explicit-constructor)

  /// `from_now` after this moment, in any unit.
  template <DurationLike D>
  Deadline(D from_now) noexcept  // NOLINT(google-explicit-constructor)
      : Deadline(after(LeaseClock::now(), from_now)) {}

  /// The moment `at` of another clock, as that clock stands now.
  template <ForeignTimePoint T>
  Deadline(T at) noexcept  // NOLINT(google-explicit-constructor)
      : Deadline(after_seconds(
            LeaseClock::now(),
            seconds(at.time_since_epoch()) - seconds(T::clock::now().time_since_epoch()))) {}

  /// `d` after `start`; the arithmetic never overflows.
  template <DurationLike D>
  static constexpr Deadline after(time_point start, D d) noexcept {
    return after_seconds(start, seconds(d));
  }

  constexpr bool is_never() const noexcept { return at_ == time_point::max(); }
  constexpr bool has_passed(time_point now) const noexcept { return now >= at_; }
  /// time_point::max() for never().
  constexpr time_point at() const noexcept { return at_; }

  friend constexpr auto operator<=>(const Deadline&, const Deadline&) = default;

 private:
  // A long double holds 64 bits of a count: nothing below a nanosecond is lost in practice.
  template <DurationLike D>
  static constexpr long double seconds(D d) noexcept {
    return static_cast<long double>(d.count()) * static_cast<long double>(D::period::num) /
           static_cast<long double>(D::period::den);
  }

  static constexpr Deadline after_seconds(time_point start, long double wanted) noexcept {
    if (!(wanted > 0)) return passed();  // also a NaN
    const auto room = time_point::max() - std::max(start, time_point());
    const long double nanos = wanted * 1e9L;
    if (nanos >= static_cast<long double>(room.count())) return never();
    return Deadline(start + LeaseClock::duration(static_cast<LeaseClock::rep>(nanos)));
  }

  time_point at_ = time_point::max();
};

}  // namespace zklock
