// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "zklock/core/session.h"

namespace zklock::core {

/// Whether threads that wait for a moment may stay awake, and let others run meanwhile. Where those
/// want the processor for long, the moment becomes milliseconds, for who gives way comes last; while
/// who sleeps is given the processor soon after it is woken. So about a twentieth of the time may be
/// lost like that, and 10 ms of it be saved up; where more is lost, none stays awake until it is
/// earned.
/// A moment now and then is no reason to sleep: a virtual machine has several a second.
///
/// Thread-safety: all members, from any thread; lock-free.
class Vigil {
 public:
  bool is_allowed(Instant now) const noexcept {
    return now.time_since_epoch().count() >= not_before_.load(std::memory_order_relaxed);
  }
  /// Between these two a thread that is awake let others run. What several lose at once is counted
  /// once: what came before the end of a loss that has been told is not counted any more.
  void gave_way(Instant from, Instant until) noexcept {
    if (until - from <= std::chrono::milliseconds(1)) return;
    const Duration::rep end = until.time_since_epoch().count();
    Duration::rep counted = counted_until_.load(std::memory_order_relaxed);
    do {
      if (counted >= end) return;
    } while (!counted_until_.compare_exchange_weak(counted, end, std::memory_order_relaxed));
    const Duration lost = until - std::max(from, Instant(Duration(counted)));
    // What takes longer is no other thread: the process or the machine stood still. So not in full.
    const Duration pause = price * std::min<Duration>(lost, std::chrono::milliseconds(50));
    Duration::rep before = not_before_.load(std::memory_order_relaxed);
    while (!not_before_.compare_exchange_weak(
        before, std::max(before, end - most_saved.count()) + pause.count(),
        std::memory_order_relaxed)) {
    }
  }

 private:
  static constexpr int price = 20;  ///< how many times as long it takes to earn what is lost
  static constexpr Duration most_saved = price * std::chrono::milliseconds(10);

  /// As far as it is in the past, that is saved up, but no more than most_saved.
  std::atomic<Duration::rep> not_before_{0};
  std::atomic<Duration::rep> counted_until_{0};  ///< the end of the last loss that was counted
};

}  // namespace zklock::core
