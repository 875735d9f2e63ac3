// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "zklock/core/session.h"

namespace zklock::core {

/// How long a thread that waits had better stay awake: to sleep, and to be woken, takes longer than
/// many a wait. As with an adaptive mutex, the last wait tells of the next one. After a long one it is
/// a fifth: what the thread has begun goes on in others, and these are woken sooner while no
/// processor is idle.
///
/// Thread-safety: none; pure.
class Patience {
 public:
  /// `longest`: to stay awake after a wait of `brief` at most.
  Patience(std::chrono::microseconds longest, std::chrono::microseconds brief) noexcept
      : longest_(longest), brief_(brief) {}

  void waited(Duration length) noexcept { was_brief_ = length <= brief_; }
  std::chrono::microseconds stay_awake() const noexcept {
    return was_brief_ ? longest_ : longest_ / 5;
  }

 private:
  const std::chrono::microseconds longest_;
  const std::chrono::microseconds brief_;
  bool was_brief_ = false;
};

}  // namespace zklock::core
