// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>

#include "zklock/client/port/test_seam.h"

namespace zklock::client {

/// The pauses between attempts. They double from `min` to `max`. Each is shortened at random by up
/// to a half, so that many clients do not reconnect at the same moment.
///
/// Thread-safety: none; the caller locks.
class Backoff {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// `random()` returns a number between 0 and 1.
  Backoff(Milliseconds min, Milliseconds max, std::function<double()> random = random_numbers())
      : min_(min), max_(max), next_(min), random_(std::move(random)) {}

  Milliseconds next() {
    const Milliseconds whole = std::min(next_, max_);
    next_ = std::min(whole * 2, max_);
    const auto cut = static_cast<double>(whole.count()) * random_() / 2;
    return whole - Milliseconds(static_cast<Milliseconds::rep>(cut));
  }

  void reset() { next_ = min_; }

 private:
  static std::function<double()> random_numbers() {
    TestSeam* const seam = test_seam();
    const std::uint32_t seed = seam != nullptr ? seam->next_seed() : std::random_device{}();
    return [engine = std::minstd_rand(seed)]() mutable {
      return std::uniform_real_distribution<>(0, 1)(engine);
    };
  }

  const Milliseconds min_;
  const Milliseconds max_;
  Milliseconds next_;
  std::function<double()> random_;
};

}  // namespace zklock::client
