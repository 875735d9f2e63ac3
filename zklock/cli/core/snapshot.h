// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/cli/core/lock_facts.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// The cycle that a path takes part in.
struct CycleMark {
  bool is_certain = false;
  std::vector<std::string> paths;  ///< the first 20 paths of the cycle

  friend bool operator==(const CycleMark&, const CycleMark&) = default;
};
/// By path. The paths of a cycle share its mark. If a path is in several cycles, a certain one
/// wins.
using CycleMarks = std::map<std::string, std::shared_ptr<const CycleMark>, std::less<>>;
CycleMarks cycle_marks(std::span<const LockCycle> cycles);
/// Returns the mark of a path; null if it is in no cycle.
const CycleMark* mark_of(const CycleMarks& marks, std::string_view path);

/// The result of one pass over all locks below a root. Thread-safety: a value.
struct Snapshot {
  std::string root;
  WallTime as_of;                         ///< begin of the pass
  std::chrono::milliseconds duration{0};  ///< duration of the pass
  std::vector<SurveyedLock> locks;        ///< in the order of their paths
  std::vector<LockCycle> cycles;          ///< certain cycles are confirmed
  CycleMarks marks;                       ///< of `cycles`
  std::vector<EmptyZnode> empty;
  std::vector<std::string> unreadable;  ///< see SurveyPage
  std::vector<std::string> too_deep;
  std::size_t visited = 0;     ///< znodes that were listed
  std::size_t contenders = 0;  ///< described contenders of `locks`

  /// Returns the age from which the next pass is late. `interval`: between the begins of passes.
  std::chrono::milliseconds late_after(std::chrono::milliseconds interval) const noexcept {
    return 3 * (interval + duration);
  }
  /// Returns the number of paths that were not read.
  std::size_t unread() const noexcept { return unreadable.size() + too_deep.size(); }
  /// Returns false if the root does not exist.
  bool has_root() const noexcept { return visited > 0 || !unreadable.empty(); }
};

/// Returns whether a pass over the locks below `root` covers a path.
bool is_below(std::string_view root, std::string_view path) noexcept;

/// Adds one page of a survey. Once `most_contenders` are described, the lists of each further lock
/// are cut to the first holder and the first waiting contender.
/// REQUIRES: the first holders of a lock are described.
void add_page(Snapshot& snapshot, SurveyPage page, std::size_t most_contenders);
/// Sorts the lists after the last page, and sets the cycles with their marks.
void complete(Snapshot& snapshot, std::vector<LockCycle> cycles);

/// The most paths that are read a second time. Cycles beyond it stay possible.
inline constexpr std::size_t kMostConfirmedPaths = 200;
/// Returns the paths of the certain cycles, as far as whole cycles fit into kMostConfirmedPaths.
std::set<std::string> paths_to_confirm(std::span<const LockCycle> cycles);

/// Returns the cycles of `found`, with `is_certain` only if `second` shows that the cycle existed.
/// `second` was read after all reads that `found` comes from. Each waiting contender must still
/// wait, and each holder hold, with equal tokens. Then all these waits existed at one time.
std::vector<LockCycle> confirmed_cycles(std::vector<LockCycle> found,
                                        std::span<const SurveyedLock> second);

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
