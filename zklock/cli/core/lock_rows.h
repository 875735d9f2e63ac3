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

inline constexpr std::size_t kMostSearchBytes = 200;  ///< decoded; a longer search is refused
inline constexpr std::size_t kMostFound = 500;        ///< locks in one answer

/// The query of `/api/locks`, and the filter and order of `top`.
struct LockQuery {
  std::string search = {};  ///< words; a lock must contain each of them
  RowOrder sort = RowOrder::path;
};

/// Parses the part of a target after the question mark: "search=a%20b&sort=held". Pure.
/// Throws: Failure, with a sentence for the client. Each of the two fields may occur once. A %
/// needs two hexadecimal digits. No decoded byte may be below 0x20, or 0x7f.
LockQuery parse_lock_query(std::string_view query);
/// Parses the query of `/api/history`, "path=/jobs/report", and returns the path. Pure.
/// Throws: Failure, as parse_lock_query() does.
std::string parse_history_query(std::string_view query);

/// The result of a search.
struct FoundLocks {
  std::size_t matching = 0;  ///< number of all locks that match
  LockRows locks;
};

/// Returns the locks that match a query, at most `most`, in its order. `path` chooses the
/// most_important() ones; the other orders choose their first ones.
///
/// A word matches a part of the path, or of a text of a described contender: host, application,
/// label, note, owner, thread, library, session. A small ASCII letter matches its capital letter.
/// Pure.
FoundLocks find_locks(const Snapshot& snapshot, const LockQuery& query, std::size_t most,
                      WallTime now);

}  // namespace zklock::cli
