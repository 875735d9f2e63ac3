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

/// A time point of a clock other than LeaseClock.
template <class T>
concept ForeignTimePoint = TimePointLike<T> && !std::same_as<T, LeaseClock::time_point>;

/// The time at which a call ends at the latest. One type for "after 5 s", "at 14:00" and "never":
/// @code
///   mutex.acquire({.deadline = 5s});
///   mutex.acquire({.deadline = std::chrono::steady_clock::now() + 5s});
///   mutex.acquire({.deadline = Deadline::never()});   // the default
/// @endcode
/// The constructor converts durations and time points of other clocks to a time point of
/// LeaseClock. So later jumps of a wall clock have no effect. A duration of zero or less gives a
/// deadline that has passed. A duration too long to be represented gives never().
/// Source: absl::Time and absl::SynchWaitParams.
///
/// Thread-safety: a value.
class Deadline {
 public:
  /// A time of the clock that deadlines use.
  using time_point = LeaseClock::time_point;

  /// A deadline that never passes.
  constexpr Deadline() noexcept = default;
  [[nodiscard]] static constexpr Deadline never() noexcept { return {}; }
  /// A deadline that has passed: the call makes a single attempt and does not wait for other
  /// contenders.
  [[nodiscard]] static constexpr Deadline passed() noexcept { return Deadline(time_point::min()); }

  /// A time of LeaseClock.
  constexpr Deadline(time_point at) noexcept : at_(at) {}  // NOLINT(google-explicit-constructor)

  /// The time `from_now` after the construction, in any unit.
  template <DurationLike D>
  Deadline(D from_now) noexcept  // NOLINT(google-explicit-constructor)
      : Deadline(after(LeaseClock::now(), from_now)) {}

  /// The time `at` of another clock, converted by the current reading of both clocks.
  template <ForeignTimePoint T>
  Deadline(T at) noexcept  // NOLINT(google-explicit-constructor)
      : Deadline(after_seconds(
            LeaseClock::now(),
            seconds(at.time_since_epoch()) - seconds(T::clock::now().time_since_epoch()))) {}

  /// Returns the deadline `d` after `start`. The arithmetic never overflows.
  template <DurationLike D>
  [[nodiscard]] static constexpr Deadline after(time_point start, D d) noexcept {
    return after_seconds(start, seconds(d));
  }

  /// Return whether the deadline never passes, and whether it has passed at `now`.
  [[nodiscard]] constexpr bool is_never() const noexcept { return at_ == time_point::max(); }
  [[nodiscard]] constexpr bool has_passed(time_point now) const noexcept { return now >= at_; }
  /// Returns the time point, or time_point::max() for never().
  [[nodiscard]] constexpr time_point at() const noexcept { return at_; }

  /// Compares the times. never() is the latest.
  friend constexpr auto operator<=>(const Deadline&, const Deadline&) = default;

 private:
  // The significand of a long double has 64 bits, so the rounding error is below a nanosecond.
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

/// A Deadline, or anything that converts to one: a duration, or a time point of any clock.
template <class D>
concept DeadlineLike = std::convertible_to<D, Deadline>;

}  // namespace zklock
