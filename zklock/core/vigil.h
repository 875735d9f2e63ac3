// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "zklock/core/session.h"

namespace zklock::core {

/// Decides whether blocked threads may spin for a moment, yielding the processor, before they
/// sleep. If other threads need the processor for long, a yield takes milliseconds: a thread that
/// yields is scheduled last. A thread that sleeps is scheduled soon after it is woken.
///
/// So threads may lose about one twentieth of the time by yielding. Up to 10 ms of that can be
/// saved up. If more is lost, no thread spins until the time has been earned. A rare short loss
/// does not stop the spinning: a virtual machine has several a second.
///
/// Thread-safety: all members may be called by any thread; lock-free.
class Vigil {
 public:
  bool is_allowed(Instant now) const noexcept {
    return now.time_since_epoch().count() >= not_before_.load(std::memory_order_relaxed);
  }
  /// Records that a spinning thread yielded from `from` to `until`. Losses of several threads at
  /// one time count once: the part before the end of an earlier recorded loss is not counted.
  void gave_way(Instant from, Instant until) noexcept {
    if (until - from <= std::chrono::milliseconds(1)) return;
    const Duration::rep end = until.time_since_epoch().count();
    Duration::rep counted = counted_until_.load(std::memory_order_relaxed);
    do {
      if (counted >= end) return;
    } while (!counted_until_.compare_exchange_weak(counted, end, std::memory_order_relaxed));
    const Duration lost = until - std::max(from, Instant(Duration(counted)));
    // A longer loss has another cause: the process or the machine was stopped. It counts as 50 ms.
    const Duration pause = price * std::min<Duration>(lost, std::chrono::milliseconds(50));
    Duration::rep before = not_before_.load(std::memory_order_relaxed);
    while (!not_before_.compare_exchange_weak(
        before, std::max(before, end - most_saved.count()) + pause.count(),
        std::memory_order_relaxed)) {
    }
  }

 private:
  static constexpr int price = 20;  ///< time to earn, per time lost
  static constexpr Duration most_saved = price * std::chrono::milliseconds(10);

  /// If it is in the past, the time since then is saved up, at most most_saved.
  std::atomic<Duration::rep> not_before_{0};
  std::atomic<Duration::rep> counted_until_{0};  ///< end of the last counted loss
};

}  // namespace zklock::core
