// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/cli/core/findings.h"
#include "zklock/cli/core/lock_history.h"
#include "zklock/cli/core/lock_query.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/survey.h"

/// The JSON texts of the commands and of the page. Each is one line of ASCII. Numbers that can
/// exceed 2^53 are strings. An unknown value is null. The guide "JSON of the command" has the
/// fields.
namespace zklock::cli::json {

/// The fields of a lock, without a schema: the page receives these.
std::string lock_fields(const SurveyedLock& lock, const CycleMark* cycle);

/// Which fields of a lock were read. `one_lock`: not those of cycles. `state`: only those of
/// LockState. The others are null.
enum class Known { all, one_lock, state };
std::string lock(const SurveyedLock& lock, const CycleMark* cycle, WallTime as_of,
                 Known known = Known::all);
/// A document with all locks of a snapshot.
std::string locks(const Snapshot& snapshot);
/// A document with the locks of a search, each with at most kMostFoundWaiters of its queue. `found`
/// refers to the snapshot.
inline constexpr std::size_t kMostFoundWaiters = 20;  ///< as many as the page draws
std::string found_locks(const Snapshot& snapshot, const FoundLocks& found);
std::string finding(const Finding& finding);

/// A document with the past of one lock.
std::string history(std::string_view root, std::string_view path, const LockHistory& history);

/// A line of `watch`. `kind`: state, disconnected or connected; `lock`: with Known::state, or null.
std::string change(WallTime at, std::string_view kind, const SurveyedLock* lock);
/// A line of `release`. `outcome`: released, free, not_held, no_such_contender, not_released.
/// `holding`: how many earlier holders still hold.
std::string release(std::string_view path, std::string_view node, std::string_view outcome,
                    std::chrono::milliseconds waited, std::size_t holding);
/// The line of `hold`. `node`: the name of the znode.
std::string hold(std::string_view path, std::string_view node, std::string_view token,
                 std::string_view kind, std::string_view note);
std::string permits(std::string_view path, std::optional<int> count, std::int64_t held,
                    std::size_t waiting);
/// A line of `doctor`.
std::string doctor(Level level, std::string_view check, std::string_view text);

// Events of the page; see page_events.h.
struct Beat {
  WallTime now;
  std::chrono::milliseconds interval{0};     ///< between the begins of two passes
  std::chrono::milliseconds held_over{0};    ///< from this age, a hold is long
  std::chrono::milliseconds waited_over{0};  ///< from this age, a wait is long
  bool connected = false;
  std::string error = {};  ///< of the last pass; empty if it succeeded
};
std::string hello(std::string_view root, std::string_view version);
/// Returns the sums of a pass, and what the history knows: its bounds, since when, and its gaps.
/// `shown`: number of locks that the page receives. An empty Snapshot means that no pass has ended.
std::string pass(const Snapshot& snapshot, std::size_t shown, const LockHistory& history);
/// `pass`: of pass(), for the last pass that the page has received.
std::string beat(const Beat& beat, std::string_view pass);
/// Returns a lock with its past. `fields`: of lock_fields(). Each hold is `[begin, seen, ended,
/// kind]`. `ended` is null while it may last, and `seen` if the last pass has it.
std::string live_lock(std::string fields, const LockPast& past, const LockHistory& history);
/// `locks` and `removed`: texts of live_lock() and of quoted(), joined by commas.
std::string live_change(std::string_view locks, std::string_view removed);
/// Returns a JSON string, with the quotation marks.
std::string quoted(std::string_view text);

}  // namespace zklock::cli::json
