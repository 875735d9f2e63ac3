// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>

#include "zklock/core/session.h"

namespace zklock::client {

/// Returns the time of CLOCK_BOOTTIME. LeaseClock returns it too, except in tests with virtual
/// time. Code that measures the real world reads it here: timers, requests to servers.
inline core::Instant boot_time() noexcept {
  std::timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return core::Instant(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace zklock::client
