// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace zklock::bench {

using Clock = std::chrono::steady_clock;

double in_seconds(Clock::duration duration);

/// Durations. At most a bounded number is stored.
///
/// Thread-safety: none.
class Samples {
 public:
  void add(Clock::duration sample);
  void add_all(const Samples& others);

  std::size_t count() const noexcept { return count_; }
  /// Returns a percentile in microseconds; 0 without samples.
  double percentile(double fraction) const;

 private:
  std::size_t count_ = 0;
  std::vector<Clock::duration> kept_;
};

}  // namespace zklock::bench
