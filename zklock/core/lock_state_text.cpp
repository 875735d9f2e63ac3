// SPDX-License-Identifier: Apache-2.0
// The texts of a lock's state and of a duration.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "zklock/lock_state.h"

namespace zklock {

namespace {

struct TimeUnit {
  std::int64_t seconds;
  const char* suffix;
};
/// The last element stands for the unit after seconds: there is none.
constexpr std::array<TimeUnit, 5> kTimeUnits{
    {{86'400, " d"}, {3'600, " h"}, {60, " m"}, {1, " s"}, {0, ""}}};

std::string waiting_text(std::size_t waiting) {
  if (waiting == 0) return "none waits";
  return std::to_string(waiting) + (waiting == 1 ? " waits" : " wait");
}

}  // namespace

std::string duration_text(std::chrono::milliseconds duration) {
  const std::int64_t ms = std::max<std::int64_t>(duration.count(), 0);
  if (ms < 1000) return std::to_string(ms) + " ms";
  const std::int64_t seconds = ms / 1000;
  std::size_t largest = 0;
  while (kTimeUnits[largest].seconds > seconds) ++largest;
  const TimeUnit& unit = kTimeUnits[largest];
  const TimeUnit& next = kTimeUnits[largest + 1];
  std::string text = std::to_string(seconds / unit.seconds) + unit.suffix;
  const std::int64_t rest = seconds % unit.seconds;
  if (rest == 0 || rest < next.seconds) return text;
  return text + " " + std::to_string(rest / next.seconds) + next.suffix;
}

std::string to_string(const LockState& state, std::chrono::system_clock::time_point now) {
  using std::chrono::milliseconds;
  if (state.lock_delay) {
    return "lock delay of " + duration_text(*state.lock_delay) + "; " + waiting_text(state.waiting);
  }
  if (state.is_free()) return "free";
  if (state.holders.empty()) return "not held; " + waiting_text(state.waiting);
  const Participant& first = state.holders.front();
  std::string text = "held by " + to_string(first);
  if (first.held_since) {
    // Milliseconds: the difference of any two times in nanoseconds could overflow.
    const auto since = std::chrono::floor<milliseconds>(*first.held_since);
    text += " for " + duration_text(std::chrono::floor<milliseconds>(now) - since);
  }
  const std::size_t all = std::max(state.holding, state.holders.size());
  if (all > 1) text += " and " + std::to_string(all - 1) + " more";
  return text + "; " + waiting_text(state.waiting);
}

}  // namespace zklock
