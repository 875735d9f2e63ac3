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

/// Spins (yields) until `done()` returns true, for at most `longest`. Returns early if other
/// threads need the processor: see core::Vigil. `done()` is called with `lock` held, and `lock` is
/// held at the return. `pause()` is called after each yield, with the lock released; it may throw.
template <class Lock, class Done, class Pause>
void spin_before_block(Lock& lock, std::chrono::microseconds longest, const Done& done,
                       const Pause& pause, core::Vigil& vigil = detail::vigil) {
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
