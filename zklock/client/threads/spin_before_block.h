// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

#include "zklock/client/port/boot_time.h"
#include "zklock/client/port/mutex.h"

namespace zklock::client {

/// Spins (yields) until `done()` returns true, for at most `longest`. `done()` is called with the
/// mutex held. `pause()` is called after each yield, with the mutex released; it may throw. The
/// analysis does not see that this is the mutex that `done` requires.
template <class Done, class Pause>
void spin_before_block(Mutex& mutex, std::chrono::microseconds longest, const Done& done,
                       const Pause& pause) ZKLOCK_REQUIRES(mutex) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  if (longest.count() <= 0) return;
  const auto until = boot_time() + longest;
  while (!done() && boot_time() < until) {
    const MutexUnlock released(mutex);
    std::this_thread::yield();
    pause();
  }
}

}  // namespace zklock::client
