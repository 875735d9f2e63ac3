// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/lock_facts.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// The rows of `ls` and `top`.
enum class RowOrder { path, held, waiting };

struct RowFilter {
  /// Only locks with a hold whose alert_age() is at least this.
  std::optional<Duration> held_over = std::nullopt;
  std::string host = {};  ///< only locks with a contender of it
  std::string text = {};  ///< part of the path, host, application or note
};

/// Returns the locks that pass the filter, in the order. `held`: the oldest hold first; that of a
/// leader has no age, because a leader leads for days. `waiting`: the longest queue first, then the
/// oldest wait. Equal locks stay in the order of `locks`. Pure.
std::vector<const SurveyedLock*> lock_rows(std::span<const SurveyedLock> locks,
                                           const RowFilter& filter, RowOrder order, WallTime now);
/// Sorts rows as lock_rows() does. REQUIRES: the rows are in the order of their paths.
void sort_rows(std::vector<const SurveyedLock*>& rows, RowOrder order, WallTime now);

/// Returns the positions of the most important locks among `candidates`, at most `most`, in rising
/// order. `candidates` are positions in `locks`, in rising order. Pure.
///
/// | rank | locks                                                                              |
/// |------|------------------------------------------------------------------------------------|
/// | 1    | in a certain cycle, then in a possible one                                         |
/// | 2    | the oldest hold, the longest wait, the second oldest hold, and so on: in turns     |
/// | 3    | with neither a known hold nor a known wait                                         |
///
/// Equal locks are ranked by path. If cycles leave n positions, at least the n / 2 oldest holds and
/// the n / 2 longest waits of all candidates are chosen. The age of a hold is alert_age(). Both
/// ages of a lock that a leader holds count as unknown: a leader leads for days, and a standby
/// waits as long.
std::vector<std::size_t> most_important(std::span<const SurveyedLock> locks,
                                        const CycleMarks& marks,
                                        std::vector<std::size_t> candidates, std::size_t most,
                                        WallTime now);
/// Returns the positions 0 to `count` - 1.
std::vector<std::size_t> all_positions(std::size_t count);

}  // namespace zklock::cli
