// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/participant.h"

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

/// Returns whether the contender is the writer of a SharedMutex, by the name of its znode.
bool is_writer(const Participant& contender) noexcept;

/// Returns whether the contender is the leader of an election.
inline bool leads(const Participant& contender) noexcept {
  return contender.holds && contender.is_candidate;
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

}  // namespace zklock::cli
