// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "zklock/lease_clock.h"

namespace zklock::testing {

/// Records events with their virtual times, in milliseconds since the construction.
///
/// Thread-safety: all members, from any thread.
class History {
 public:
  void add(const std::string& event) {
    const auto time =
        std::chrono::duration_cast<std::chrono::milliseconds>(LeaseClock::now() - began_);
    const std::lock_guard guard(mutex_);
    text_ += std::to_string(time.count()) + " " + event + "\n";
  }
  std::string text() const {
    const std::lock_guard guard(mutex_);
    return text_;
  }

 private:
  const LeaseClock::time_point began_ = LeaseClock::now();
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace zklock::testing
