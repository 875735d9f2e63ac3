// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>

namespace zklock {

/// The clock of leases and deadlines: CLOCK_BOOTTIME, which no one sets and which goes on while
/// the machine sleeps. (std::chrono::steady_clock stands still then, and a lease measured by it
/// would outlive the session on the servers.)
///
/// Thread-safety: any thread. It meets the TrivialClock requirements.
struct LeaseClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<LeaseClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    std::timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
  }
};

}  // namespace zklock
