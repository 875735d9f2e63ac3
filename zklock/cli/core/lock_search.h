// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/cli/core/lock_rows.h"
#include "zklock/cli/core/snapshot.h"

namespace zklock::cli {

inline constexpr std::size_t kMostSearchBytes = 200;  ///< decoded; a longer search is refused
inline constexpr std::size_t kMostFound = 500;        ///< locks in one answer

/// The query of `/api/locks`.
struct LockQuery {
  std::string search = {};  ///< words; a lock must contain each of them
  RowOrder sort = RowOrder::path;
};

/// Parses the part of a target after the question mark: "search=a%20b&sort=held". Pure.
/// Throws: Failure, with a sentence for the client. Each of the two fields may occur once. A % needs
/// two hexadecimal digits. No decoded byte may be below 0x20, or 0x7f.
LockQuery parse_lock_query(std::string_view query);

/// The result of a search.
struct FoundLocks {
  std::size_t matching = 0;  ///< number of all locks that match
  std::vector<const SurveyedLock*> locks;
};

/// Returns the locks that match a query, at most `most`, in its order. `path` chooses the most
/// important ones, and then orders them; the other orders choose their first ones. See
/// most_important() and sort_rows(). They refer to the snapshot.
///
/// A word matches a part of the path, or of a text of a described contender: host, application,
/// label, note, owner, thread, library, session. A small ASCII letter matches its capital letter.
/// Pure.
FoundLocks find_locks(const Snapshot& snapshot, const CycleMarks& marks, const LockQuery& query,
                      std::size_t most, WallTime now);

}  // namespace zklock::cli
