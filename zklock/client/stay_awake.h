// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>
#include <utility>

#include "zklock/core/vigil.h"
#include "zklock/lease_clock.h"

namespace zklock::client {

namespace detail {
inline constinit core::Vigil vigil;
}

/// Lets other threads run until `done()`, which is asked with `lock` held, as it is when this
/// returns; for `longest` at most, and not where others want the processor. `pause()` is called each
/// time with the lock free, and may throw.
template <class Lock, class Done, class Pause>
void stay_awake(Lock& lock, std::chrono::microseconds longest, const Done& done, const Pause& pause,
                core::Vigil& vigil = detail::vigil) {
  if (longest.count() <= 0) return;
  core::Instant now = LeaseClock::now();
  const core::Instant until = now + longest;
  while (!done() && now < until && vigil.is_allowed(now)) {
    lock.unlock();
    std::this_thread::yield();
    pause();
    const core::Instant before = std::exchange(now, LeaseClock::now());
    vigil.gave_way(before, now);
    lock.lock();
  }
}

}  // namespace zklock::client
