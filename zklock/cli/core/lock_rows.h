// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zklock/cli/core/lock_facts.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// The rows of `ls` and `top`.
enum class RowOrder { path, held, waiting };

struct RowFilter {
  /// Only locks with a hold whose alert_age() is at least this.
  std::optional<std::chrono::milliseconds> held_over = std::nullopt;
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

}  // namespace zklock::cli
