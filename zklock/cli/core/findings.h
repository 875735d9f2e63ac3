// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/snapshot.h"

namespace zklock::cli {

/// The importance of a finding of `check` or `doctor`. A notice does not change the exit code.
enum class Level { ok, notice, warning, failure };
/// Returns a short name for people: ok, note, warn or fail.
std::string_view name_of(Level level) noexcept;
/// Returns 2 with a failure, 1 with a warning, otherwise 0. `least`: a lower level counts as none.
int exit_code_of(Level worst, Level least = Level::warning) noexcept;

/// One line of `check`.
struct Finding {
  Level level = Level::ok;
  std::string_view kind;           ///< stable name for programs; a literal
  std::string path;                ///< empty: of the whole survey
  std::string text;                ///< for people; may contain hostile text
  std::vector<std::string> paths;  ///< all paths that it is about
  /// The contenders of a cycle or a long hold, each with its path.
  std::vector<std::pair<std::string, Participant>> participants = {};
};

/// Returns what is wrong with the locks of a snapshot, the most important findings first.
/// `held_over`: the age from which a hold is too long.
///
/// | kind             | level    | condition                                                     |
/// |------------------|----------|---------------------------------------------------------------|
/// | certain_cycle    | failure  | LockCycle::is_certain                                         |
/// | possible_cycle   | warning  | any other cycle                                               |
/// | sequence_wear    | failure  | next sequence number of at least 1,900,000,000                |
/// |                  | warning  | at least 1,000,000,000                                        |
/// | held_long        | warning  | alert_age() is `held_over` or longer                          |
/// | mixed_libraries  | warning  | contenders of libraries that may not wait for each other      |
/// | other_children   | warning  | children that are no contenders                               |
/// | unreadable       | warning  | no READ permission: not checked                               |
/// | too_deep         | warning  | below the maximum depth: not checked                          |
/// | empty            | notice   | znodes without children and data that are older than a day    |
///
/// Pure.
std::vector<Finding> findings(const Snapshot& snapshot, const std::optional<Duration>& held_over,
                              WallTime now);

}  // namespace zklock::cli
