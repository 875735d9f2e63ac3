// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "zklock/core/session.h"
#include "zklock/metrics.h"

namespace zklock::core {

/// A DurationHistogram to which any thread may add. Allocates nothing.
///
/// Thread-safety: all members, from any thread; lock-free. While other threads add, the sum and the
/// counts of read() can differ by their durations.
class AtomicHistogram {
 public:
  /// Adds a duration. A negative one counts as 0.
  void add(Duration duration) noexcept {
    counts_[range_of(duration)].fetch_add(1, std::memory_order_relaxed);
    const auto sum = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
    sum_.fetch_add(std::max<Sum>(sum, 0), std::memory_order_relaxed);
  }
  DurationHistogram read() const noexcept {
    DurationHistogram all;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      all.counts[i] = counts_[i].load(std::memory_order_relaxed);
    }
    all.sum = std::chrono::microseconds(sum_.load(std::memory_order_relaxed));
    return all;
  }
  /// Returns the index of the first bound that is not below `duration`; the number of bounds if all
  /// are.
  static std::size_t range_of(Duration duration) noexcept {
    constexpr const auto& kBounds = DurationHistogram::kBounds;
    return static_cast<std::size_t>(std::lower_bound(kBounds.begin(), kBounds.end(), duration) -
                                    kBounds.begin());
  }

 private:
  using Sum = std::chrono::microseconds::rep;

  std::array<std::atomic<std::uint64_t>, DurationHistogram::kBounds.size() + 1> counts_{};
  /// In nanoseconds, the type could hold 292 years only: ten days of ten thousand holds.
  std::atomic<Sum> sum_{0};
};

}  // namespace zklock::core
