// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>

#include "zklock/core/session.h"

namespace zklock::core {

/// Whether the threads of this process that wait for a moment may stay awake, and let others run
/// meanwhile. Where those want the processor for long, the moment becomes milliseconds, for who gives
/// way comes last; while who sleeps is given the processor soon after it is woken. So for twenty
/// times as long as a thread had to wait for the processor none stays awake, and a twentieth of the
/// time is lost at most.
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
    not_before_.store((until + 20 * lost).time_since_epoch().count(), std::memory_order_relaxed);
  }

 private:
  std::atomic<Duration::rep> not_before_{0};
};

}  // namespace zklock::core
