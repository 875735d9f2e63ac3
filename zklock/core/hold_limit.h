// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "zklock/core/session.h"
#include "zklock/deadline.h"

namespace zklock::core {

/// How long a hold may last, and how long before its end that is told.
///
/// Thread-safety: a value; pure.
struct HoldLimit {
  std::optional<Duration> longest = std::nullopt;  ///< none: until it is given back
  std::optional<Duration> notice = std::nullopt;   ///< none: a quarter of the whole time

  /// Of a time that begins at `start`: Instant::max() when it is not limited.
  Instant end(Instant start) const noexcept {
    return longest ? Deadline::after(start, *longest).at() : Instant::max();
  }
  /// Not before `start`; Instant::max() when there is nothing to tell.
  Instant warning(Instant start) const noexcept {
    const Instant over = end(start);
    if (over == Instant::max()) return over;
    const Duration before = notice.value_or(*longest / 4);
    return before < over - start ? over - before : start;
  }

  friend bool operator==(const HoldLimit&, const HoldLimit&) = default;
};

}  // namespace zklock::core
