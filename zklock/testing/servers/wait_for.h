// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>
#include <utility>

namespace zklock::testing {

// Polls `predicate` until it is true or `timeout` has passed. Returns whether it became true. Calls
// it at least once, and once more at the end, so that a slow machine causes no false failure.
template <typename Predicate>
[[nodiscard]] bool eventually(Predicate&& predicate,
                              std::chrono::milliseconds timeout = std::chrono::seconds(60),
                              std::chrono::milliseconds interval = std::chrono::milliseconds(5)) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const auto began = steady_clock::now();
  // In milliseconds: the longest timeout in nanoseconds would overflow.
  while (std::chrono::floor<milliseconds>(steady_clock::now() - began) < timeout) {
    if (predicate()) return true;
    std::this_thread::sleep_for(interval);
  }
  return static_cast<bool>(predicate());
}

}  // namespace zklock::testing
