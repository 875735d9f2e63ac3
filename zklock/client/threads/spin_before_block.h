// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

#include "zklock/lease_clock.h"

namespace zklock::client {

/// Spins (yields) until `done()` returns true, for at most `longest`. `done()` is called with
/// `lock` held, and `lock` is held at the return. `pause()` is called after each yield, with the
/// lock released; it may throw.
template <class Lock, class Done, class Pause>
void spin_before_block(Lock& lock, std::chrono::microseconds longest, const Done& done,
                       const Pause& pause) {
  if (longest.count() <= 0) return;
  const auto until = LeaseClock::now() + longest;
  while (!done() && LeaseClock::now() < until) {
    lock.unlock();
    std::this_thread::yield();
    pause();
    lock.lock();
  }
}

}  // namespace zklock::client
