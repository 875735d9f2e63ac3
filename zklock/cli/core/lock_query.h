// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/lock_selection.h"
#include "zklock/cli/core/snapshot.h"

namespace zklock::cli {

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
