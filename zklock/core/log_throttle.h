// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "zklock/core/session.h"

namespace zklock::core {

/// Limits the lines of one kind in a log: at most ten at once, and then one a second.
///
/// | state  | event                                   | next                         |
/// |--------|-----------------------------------------|------------------------------|
/// | open   | a line; others remain of the ten        | open: the line is written    |
/// |        | a line; it is the last of the ten       | closed: the line is written  |
/// | closed | a line                                  | closed: the line is counted  |
/// |        | a second has passed                     | open: one line of ten more   |
///
/// Thread-safety: none; pure.
class LogThrottle {
 public:
  static constexpr int kAtOnce = 10;
  static constexpr Duration kPause = std::chrono::seconds(1);

  /// Returns whether a line may be written at `now`. Otherwise counts it.
  bool on_line(Instant now) noexcept {
    full_at_ = std::max(full_at_, now);
    if (next() > now) {
      ++suppressed_;
      return false;
    }
    full_at_ += kPause;
    return true;
  }
  /// Returns when on_line() returns true at the earliest.
  Instant next() const noexcept { return full_at_ - (kAtOnce - 1) * kPause; }
  /// Returns the number of lines that were not written, and forgets it.
  std::uint64_t take_suppressed() noexcept { return std::exchange(suppressed_, 0); }

 private:
  Instant full_at_{};  ///< when ten lines may be written again
  std::uint64_t suppressed_ = 0;
};

}  // namespace zklock::core
