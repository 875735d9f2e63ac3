// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <atomic>
#include <chrono>
#include <ctime>

#include "zklock/export.h"

namespace zklock {

namespace detail {
struct VirtualTime;
}  // namespace detail

/// The clock of leases and deadlines: CLOCK_BOOTTIME. It cannot be set, and it runs on while the
/// machine sleeps. std::chrono::steady_clock stops during sleep, so a lease measured by it would
/// outlive the session. While a zklock::testing::FakeEnsemble exists, it returns the virtual time
/// of that ensemble.
///
/// Thread-safety: any thread. It meets the TrivialClock requirements.
struct LeaseClock {
  /// The types and constants of a TrivialClock.
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<LeaseClock>;
  static constexpr bool is_steady = true;

  /// Returns the present time.
  [[nodiscard]] static time_point now() noexcept {
    if (const auto virtual_now = virtual_clock.load(std::memory_order_acquire))
      return virtual_now();
    std::timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
  }

 private:
  friend struct detail::VirtualTime;
  // Null, except in tests with virtual time.
  ZKLOCK_EXPORT static inline std::atomic<time_point (*)() noexcept> virtual_clock{nullptr};
};

}  // namespace zklock
