// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "zklock/cli/core/snapshot.h"

namespace zklock::cli {

/// The sums over all locks of a snapshot. The page and /metrics show these.
struct SurveyTotals {
  std::size_t locks = 0;
  std::size_t held = 0;             ///< locks with a holder
  std::size_t waiting = 0;          ///< contenders that wait
  std::size_t certain_cycles = 0;   ///< deadlocks
  std::size_t possible_cycles = 0;  ///< possible deadlocks
};

SurveyTotals totals_of(const Snapshot& snapshot);

}  // namespace zklock::cli
