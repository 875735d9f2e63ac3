// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "zklock/core/session.h"
#include "zklock/deadline.h"

namespace zklock::core {

/// The maximum time of a hold, and the time of the warning before its end.
///
/// Thread-safety: a value; pure.
struct HoldLimit {
  std::optional<Duration> longest = std::nullopt;  ///< empty: until the release
  std::optional<Duration> notice = std::nullopt;   ///< warning's lead time; empty: `longest` / 4

  /// Returns the end of a hold that begins at `start`; Instant::max() if it is not limited.
  Instant end(Instant start) const noexcept {
    return longest ? Deadline::after(start, *longest).at() : Instant::max();
  }
  /// Returns the time of the warning, not before `start`; Instant::max() if there is none.
  Instant warning(Instant start) const noexcept {
    const Instant over = end(start);
    if (over == Instant::max()) return over;
    const Duration before = notice.value_or(*longest / 4);
    return before < over - start ? over - before : start;
  }

  friend bool operator==(const HoldLimit&, const HoldLimit&) = default;
};

}  // namespace zklock::core
