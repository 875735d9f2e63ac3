// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>
#include <utility>

#include "zklock/client/port/mutex.h"
#include "zklock/core/vigil.h"
#include "zklock/lease_clock.h"

namespace zklock::client {

namespace detail {
inline constinit core::Vigil vigil;
}

/// Spins (yields) until `done()` returns true, for at most `longest`. Returns early if other
/// threads need the processor: see core::Vigil. `done()` is called with the mutex held. `pause()`
/// is called after each yield, with the mutex released; it may throw. The analysis does not see
/// that this is the mutex that `done` requires.
template <class Done, class Pause>
void spin_before_block(Mutex& mutex, std::chrono::microseconds longest, const Done& done,
                       const Pause& pause, core::Vigil& vigil = detail::vigil)
    ZKLOCK_REQUIRES(mutex) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  if (longest.count() <= 0) return;
  core::Instant now = LeaseClock::now();
  const core::Instant until = now + longest;
  while (!done() && now < until && vigil.is_allowed(now)) {
    const MutexUnlock released(mutex);
    std::this_thread::yield();
    pause();
    const core::Instant before = std::exchange(now, LeaseClock::now());
    vigil.gave_way(before, now);
  }
}

}  // namespace zklock::client
