// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "zklock/core/session.h"

namespace zklock::core {

/// Says when the log describes what the contenders of a path wait for. That is due when the oldest
/// wait has reached 1 s, and then 10 s, 100 s and so on. So a queue of any length adds few lines.
///
/// | input        | condition                         | result; limit                         |
/// |--------------|-----------------------------------|---------------------------------------|
/// | is_due       | no contender waits                | false; the limit is 1 s again         |
/// |              | the oldest wait is below the      | false                                 |
/// |              | limit                             |                                       |
/// |              | the oldest wait is at or above it | true                                  |
/// | on_described |                                   | the lowest of 1 s, 10 s, ... above    |
/// |              |                                   | the oldest wait                       |
///
/// Thread-safety: none; pure.
class SlowWait {
 public:
  /// The wait from which an acquire is slow.
  static constexpr Duration kSlow = std::chrono::seconds(1);

  /// `oldest`: the longest wait so far; nothing if no contender waits.
  bool is_due(std::optional<Duration> oldest) noexcept {
    if (!oldest) limit_ = kSlow;
    return oldest && *oldest >= limit_;
  }
  void on_described(Duration oldest) noexcept {
    while (limit_ <= oldest) limit_ *= 10;
  }

 private:
  Duration limit_ = kSlow;
};

}  // namespace zklock::core
