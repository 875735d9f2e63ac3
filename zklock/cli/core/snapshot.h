// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "zklock/cli/core/lock_facts.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// The result of one pass over all locks below a root. Thread-safety: a value.
struct Snapshot {
  std::string root;
  WallTime as_of;                         ///< begin of the pass
  std::chrono::milliseconds duration{0};  ///< duration of the pass
  std::vector<SurveyedLock> locks;        ///< in the order of their paths
  std::vector<LockCycle> cycles;          ///< certain cycles are confirmed
  std::vector<EmptyZnode> empty;
  std::vector<std::string> unreadable;  ///< see SurveyPage
  std::vector<std::string> too_deep;
};

/// Adds one page of a survey.
void add_page(Snapshot& snapshot, SurveyPage page);
/// Sorts the lists after the last page. Cycles are not searched for.
void sort_lists(Snapshot& snapshot);

/// Returns the cycles of `found`, with `is_certain` only if `second` shows that the cycle existed.
/// `second` was read after all reads that `found` comes from. Each waiting contender must still
/// wait, and each holder hold, with equal tokens. Then all these waits existed at one time.
std::vector<LockCycle> confirmed_cycles(std::vector<LockCycle> found,
                                        std::span<const SurveyedLock> second);

/// The cycle that a path takes part in.
struct CycleMark {
  bool is_certain = false;
  std::vector<std::string> paths;  ///< all paths of the cycle

  friend bool operator==(const CycleMark&, const CycleMark&) = default;
};
/// By path. If a path is in several cycles, a certain one wins.
using CycleMarks = std::map<std::string, CycleMark, std::less<>>;
CycleMarks cycle_marks(std::span<const LockCycle> cycles);

}  // namespace zklock::cli
