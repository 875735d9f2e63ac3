// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/candidacy_repeat.h"

#include <algorithm>

#include <signal.h>

#include "zklock/cli/core/failure.h"

namespace zklock::cli {

namespace {

using std::chrono::seconds;

constexpr Duration kShortestPause = seconds(1);
constexpr Duration kLongestPause = seconds(60);
/// After a shorter leadership the pause grows.
constexpr Duration kLongLeadership = seconds(10);

bool stands_again(const CandidacyEnd& end) {
  // Services take HUP as an order to read their settings again.
  if (end.signal && (*end.signal != SIGHUP || end.exit_code == ExitCode::kSignal + SIGHUP)) {
    return false;
  }
  return end.was_started || end.exit_code == ExitCode::kUnavailable ||
         end.exit_code == ExitCode::kSystem || end.exit_code == ExitCode::kLost;
}

}  // namespace

std::optional<Duration> CandidacyRepeat::next(const CandidacyEnd& end) noexcept {
  if (!stands_again(end)) return std::nullopt;
  if (!end.was_started && end.exit_code == ExitCode::kUnavailable) return kShortestPause;
  if (end.held_for >= kLongLeadership) pause_ = kShortestPause;
  const Duration pause = pause_;
  pause_ = std::min(pause_ * 2, kLongestPause);
  return pause;
}

}  // namespace zklock::cli
