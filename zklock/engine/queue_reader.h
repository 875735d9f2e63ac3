// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/queue_rule.h"
#include "zklock/core/session.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/time_limit.h"
#include "zklock/lock_state.h"
#include "zklock/participant.h"

namespace zklock::detail {

/// The read_...() functions read a lock's queue without contending. They block until
/// round_trip_deadline() of `limit` at most. They throw Error.

/// Content of a list of children.
struct Queue {
  std::vector<core::ZnodeName> contenders;  ///< in the order of core::contenders()
  /// Length of the longest delay; if there is one, no contender holds. See core/lock_delay.h.
  std::optional<std::chrono::milliseconds> lock_delay;
  core::Zxid as_of;  ///< zxid of the last change of the children
  /// The times in the hold markers, in milliseconds since 1970, by sequence number.
  std::map<core::Sequence, std::int64_t> held_since_ms;

  static Queue of(const client::Reply& list);
  /// Corrects the replies to Gets of znodes in the list. If a znode is newer than the list, the
  /// path was deleted and recreated, and the listed znode does not exist any more. Its reply
  /// becomes no_node.
  void mark_recreated(std::vector<client::Reply>& nodes) const;
};

/// Returns whether the session created the ephemeral znode that `reply` shows. `session` is empty
/// if the client has none.
inline bool is_created_by(core::SessionId session, const client::Reply& reply) noexcept {
  return session != core::SessionId{} && reply.ephemeral_owner == session;
}

/// Returns the time of a znode: milliseconds since 1970. A number that another program has written
/// can be too large for the type; then returns the latest time.
std::chrono::system_clock::time_point time_of(std::int64_t ms);

/// Returns the contender with this znode, without Participant::holds and held_since. `reply`: the
/// reply to a Get of the znode. If it is not `ok`, only the name is known. `mine`: see
/// Participant::mine.
Participant describe(const core::ZnodeName& name, const client::Reply& reply, bool mine);

/// Records that the contender of the queue holds, and since when, if a hold marker shows that.
void set_holds(Participant& p, const Queue& queue);

/// Returns the names of the contenders, in the order of core::contenders().
std::vector<core::ZnodeName> read_queue(const std::shared_ptr<PathLock>& path_lock,
                                        const TimeLimit& limit);

/// Returns how many contenders are ahead of this client's contender of `owner`, or nullopt if there
/// is no such contender.
std::optional<std::size_t> read_position(const std::shared_ptr<PathLock>& path_lock,
                                         const Owner& owner, const TimeLimit& limit);

/// Returns the contenders, as described by their znodes. Omits those that are deleted meanwhile.
/// `total_permits`: the permit count of a semaphore whose contenders' names do not contain it
/// (shared permit count).
std::vector<Participant> read_participants(const std::shared_ptr<PathLock>& path_lock,
                                           const TimeLimit& limit, std::int32_t total_permits = 0);

enum class ViewKind {
  lock,          ///< all holders; number of waiting contenders
  first_holder,  ///< first holder; numbers of holding, waiting contenders
  leadership,    ///< first holder and its proclaimed value
};

/// State of a queue, as an observer sees it.
struct QueueView {
  std::vector<Participant> holders;
  std::size_t waiting = 0;
  std::size_t holding = 0;                              ///< 0 for a leadership
  std::optional<std::chrono::milliseconds> lock_delay;  ///< nullopt for a leadership
  std::optional<std::string> proclaimed;
  friend bool operator==(const QueueView&, const QueueView&) = default;
};

/// Returns the state of a lock. REQUIRES: not of a leadership.
LockState lock_state_of(QueueView view);

/// Reads the view. Fast hand-offs can outdate the list before its holders are read. Then lists
/// again, a few times. After that, only the names of such holders are known.
QueueView read_view(const std::shared_ptr<PathLock>& path_lock, ViewKind kind,
                    const TimeLimit& limit);

/// Returns whether the holders depend on a permit count that is not in the names; see
/// core/child_nodes.h.
bool shares_count(const std::vector<core::ZnodeName>& queue) noexcept;
/// Returns the permit count in the reply to a Get of its znode. Returns 0 if the znode is missing,
/// unreadable or contains no number: then no contender holds.
std::int32_t count_in(const client::Reply& reply) noexcept;
/// Returns the holders that a view shows or counts. `count`: the permit count, if it is shared.
std::vector<core::ZnodeName> holders_in(ViewKind kind, const Queue& queue, std::int32_t count);

/// Returns the view. `own_nodes`: PathLock::nodes(). `replies`: the reply to a Get of each of
/// `holders`, or of the first of them; ok or no_auth. `proclaimed`: the data of the first holder's
/// proclamation; empty if there is none.
QueueView view_of(PathLock& path_lock, const std::vector<std::string>& own_nodes, ViewKind kind,
                  const Queue& queue, const std::vector<core::ZnodeName>& holders,
                  const std::vector<client::Reply>& replies, std::string_view proclaimed);

}  // namespace zklock::detail
