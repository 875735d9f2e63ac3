// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "zklock/lease_clock.h"

namespace zklock::cli {

using Instant = LeaseClock::time_point;
using Duration = LeaseClock::duration;

inline constexpr Duration kLongestDuration = std::chrono::hours(240'000);

/// Returns the duration that the user wrote: numbers with units, the largest unit first. Examples
/// are "250ms", "1.5s" and "1h30m". The units are ms, s, m, h and d.
/// Throws: Failure with ExitCode::kUsage.
[[nodiscard]] Duration parse_duration(std::string_view text);

/// Returns a duration for people: "350 ms", "3.2 s", "42 s", "4 m 10 s", "3 h 5 m" or "2 d 4 h". A
/// negative duration is "0 ms".
[[nodiscard]] std::string text_of(Duration duration);

}  // namespace zklock::cli
