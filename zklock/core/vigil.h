// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "zklock/core/session.h"

namespace zklock::core {

/// Whether threads that wait for a moment may stay awake, and let others run meanwhile. Where those
/// want the processor for long, the moment becomes milliseconds, for who gives way comes last; while
/// who sleeps is given the processor soon after it is woken. So for twenty times as long as a thread
/// has lost none stays awake.
///
/// Thread-safety: all members, from any thread; lock-free.
class Vigil {
 public:
  bool is_allowed(Instant now) const noexcept {
    return now.time_since_epoch().count() >= not_before_.load(std::memory_order_relaxed);
  }
  /// Between these two a thread that is awake let others run.
  void gave_way(Instant from, Instant until) noexcept {
    const Duration lost = until - from;
    if (lost <= std::chrono::milliseconds(1)) return;
    // What takes longer is no other thread: the process or the machine stood still.
    const Duration pause = 20 * std::min<Duration>(lost, std::chrono::milliseconds(50));
    const Duration::rep next = (until + pause).time_since_epoch().count();
    Duration::rep before = not_before_.load(std::memory_order_relaxed);
    while (before < next &&
           !not_before_.compare_exchange_weak(before, next, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<Duration::rep> not_before_{0};
};

}  // namespace zklock::core
