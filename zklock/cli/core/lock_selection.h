// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/lock_facts.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// Locks of one snapshot, which they refer to.
using LockRows = std::vector<const SurveyedLock*>;

/// The orders of locks. `held`: the oldest hold first; that of a leader has no age, because a
/// leader leads for days. `waiting`: the longest queue first, then the oldest wait. Equal locks are
/// in the order of their paths.
enum class RowOrder { path, held, waiting };
/// Returns the order of this name; std::nullopt if there is none.
std::optional<RowOrder> row_order(std::string_view name) noexcept;

struct RowFilter {
  /// Only locks with a hold whose alert_age() is at least this.
  std::optional<Duration> held_over = std::nullopt;
  std::string host = {};  ///< only locks with a contender of it
};

/// Returns the locks that pass the filter, in the order. REQUIRES: `locks` are in the order of
/// their paths. Pure.
LockRows lock_rows(std::span<const SurveyedLock> locks, const RowFilter& filter, RowOrder order,
                   WallTime now);

/// Sorts rows that are in the order of their paths. Pure.
void sort_rows(LockRows& rows, RowOrder order, WallTime now);

/// Returns the most important of the rows, at most `most`, in the order of their paths. REQUIRES:
/// that is also the order of the rows. Pure.
///
/// | rank | locks                                                                              |
/// |------|------------------------------------------------------------------------------------|
/// | 1    | in a certain cycle, then in a possible one                                         |
/// | 2    | the oldest hold, the longest wait, the second oldest hold, and so on: in turns     |
/// | 3    | with neither a known hold nor a known wait                                         |
///
/// Equal locks are ranked by path. If cycles leave n rows, at least the n / 2 oldest holds and the
/// n / 2 longest waits of all rows are chosen. The age of a hold is alert_age(). Both ages of a
/// lock that a leader holds count as unknown: a leader leads for days, and a standby waits as long.
LockRows most_important(const LockRows& rows, const CycleMarks& marks, std::size_t most,
                        WallTime now);

}  // namespace zklock::cli
