// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/participant.h"
#include "zklock/survey.h"

namespace zklock::cli {

using WallTime = std::chrono::system_clock::time_point;

/// The library that created a contender, as its znode shows it.
///
/// | library      | znode                                                                     |
/// |--------------|---------------------------------------------------------------------------|
/// | zklock       | has the data of zklock: a process id                                      |
/// | curator      | _c_<uuid>-...                                                             |
/// | go_zookeeper | _c_<32 hexadecimal digits>-...                                            |
/// | kazoo        | <32 hexadecimal digits>__lock__... or <32 hexadecimal digits>__rlock__... |
/// | unknown      | any other, for example of Curator without protection                      |
enum class Library { zklock, curator, go_zookeeper, kazoo, unknown };
Library library_of(const Participant& contender) noexcept;
/// Returns the name for people: "Curator".
std::string_view name_of(Library library) noexcept;

/// Returns a contender for people: `db7 pid 812 (billing/writer, "job 42")`. The label follows the
/// application. A contender without data of zklock is `Curator, session 0x1000a2`.
std::string text_of(const Participant& contender);
/// Returns a session id as ZooKeeper's tools print it: "0x1000a2".
std::string session_text(std::int64_t session);

/// The lock classes that the contenders of a path have, by the names of their znodes.
///
/// | kind      | contenders                             |
/// |-----------|----------------------------------------|
/// | mutex     | mutexes and candidates of elections    |
/// | shared    | readers and writers                    |
/// | semaphore | holders of permits                     |
/// | priority  | one or more at the gate; also mutexes  |
/// | mixed     | any other combination                  |
/// | unknown   | none: only a lock delay                |
enum class LockKind { mutex, shared, semaphore, priority, mixed, unknown };
LockKind kind_of(const SurveyedLock& lock) noexcept;
std::string_view name_of(LockKind kind) noexcept;

/// Returns whether the contender is the writer of a SharedMutex, by the name of its znode.
bool is_writer(const Participant& contender) noexcept;

/// Returns "lock delay of 4 s".
std::string delay_text(std::chrono::milliseconds length);

/// Returns the sum of the held permits of a semaphore; std::nullopt if not all holders are
/// described.
std::optional<std::int64_t> held_permits(const SurveyedLock& lock) noexcept;

/// Returns whether the predicate is true for a described contender: a holder, or one that waits.
template <class Predicate>
bool any_contender(const SurveyedLock& lock, Predicate predicate) {
  return std::ranges::any_of(lock.state.holders, predicate) ||
         std::ranges::any_of(lock.waiters, predicate);
}

/// Returns whether the contender is the leader of an election.
inline bool leads(const Participant& contender) noexcept {
  return contender.holds && contender.is_candidate;
}
/// Returns whether a leader holds the lock.
inline bool is_led(const SurveyedLock& lock) noexcept {
  return std::ranges::any_of(lock.state.holders, leads);
}

/// Returns whether the time was read. It is unknown, 1970, if the client may not read the znode.
bool is_known(WallTime time) noexcept;
/// Returns whether the client could not read the znode of the contender.
bool is_unreadable(const Participant& contender) noexcept;

/// The age of a hold. `is_exact`: false if only an upper limit is known, the time in the queue.
struct HoldAge {
  std::chrono::milliseconds age{0};
  bool is_exact = false;
};
/// Returns std::nullopt if neither is known.
std::optional<HoldAge> hold_age(const Participant& holder, WallTime now) noexcept;
/// Returns the age of a hold for an alert or a filter. Without held_since, the time in the queue
/// counts for other libraries only: a hold of zklock is then short, or its znode shows no age.
std::optional<std::chrono::milliseconds> alert_age(const Participant& holder,
                                                   WallTime now) noexcept;
/// Returns `now - then`, at least 0: the clocks of two hosts differ. A time before 1970 counts as
/// 1970, because other programs write these times.
std::chrono::milliseconds age(WallTime then, WallTime now) noexcept;

/// Returns the age of the oldest hold; std::nullopt if none is known.
std::optional<HoldAge> oldest_hold(const SurveyedLock& lock, WallTime now) noexcept;
/// Returns the highest alert_age() of the holders; std::nullopt if none is known.
std::optional<std::chrono::milliseconds> oldest_alert(const SurveyedLock& lock,
                                                      WallTime now) noexcept;
/// Returns how long the oldest described waiting contender waits; std::nullopt if that is unknown.
std::optional<std::chrono::milliseconds> oldest_wait(const SurveyedLock& lock,
                                                     WallTime now) noexcept;

}  // namespace zklock::cli
