// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zklock/client/coordinator.h"
#include "zklock/core/queue.h"
#include "zklock/deadline.h"
#include "zklock/participant.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

/// Reads a lock's queue without contending. These calls block, at most until `deadline` or for
/// ClientOptions::connection_timeout, whichever comes first, and throw Error.

/// What a list of the children tells.
struct Queue {
  std::vector<core::NodeName> contenders;  ///< in the order of core::contenders()
  bool delayed = false;                    ///< nobody holds yet: see core/lock_delay.h
  FencingToken as_of;                      ///< by which a child came or went last

  static Queue of(const client::Reply& list);
  /// Of replies to Gets of some of them: what is newer than the list has got the name of one that has
  /// gone, in a path that was made anew. Then it says so.
  void settle(std::vector<client::Reply>& nodes) const;
};

/// The contenders' nodes, in the same order.
std::vector<core::NodeName> read_queue(const std::shared_ptr<LockEngine>& engine,
                                       Deadline deadline);

/// How many contenders stand before this client's contender of `owner`; nothing without one.
std::optional<std::size_t> read_position(const std::shared_ptr<LockEngine>& engine,
                                         const Owner& owner, Deadline deadline);

/// The contenders with what their nodes say; those that vanish meanwhile are left out.
/// `all_permits`: of a semaphore whose contenders' names do not say how many there are.
std::vector<Participant> read_participants(const std::shared_ptr<LockEngine>& engine,
                                           Deadline deadline, std::int32_t all_permits = 0);

/// What of a queue is looked at.
enum class Sight {
  lock,        ///< all holders, and how many wait
  leadership,  ///< the first holder, and what it has proclaimed
};

/// A queue, as it looks from outside.
struct QueueView {
  std::vector<Participant> holders;
  std::size_t waiting = 0;
  std::optional<std::string> proclaimed;
  friend bool operator==(const QueueView&, const QueueView&) = default;
};

QueueView read_view(const std::shared_ptr<LockEngine>& engine, Sight sight, Deadline deadline);

/// Who holds there depends on a number that no name says; see core/permit_count.h.
bool shares_count(const std::vector<core::NodeName>& queue) noexcept;
/// What the node says that has it; 0, which nobody is granted by, when it is not there, no number,
/// or not to be read.
std::int32_t count_in(const client::Reply& reply) noexcept;
/// The holders that a view tells of. `count`: where it is shared.
std::vector<core::NodeName> holders_in(Sight sight, const Queue& queue, std::int32_t count);

/// Of the replies to a Get of each of these holders' nodes: ok, or no_auth; and of the data of what
/// the first one may have proclaimed.
QueueView view_of(LockEngine& engine, Sight sight, const std::vector<core::NodeName>& queue,
                  const std::vector<core::NodeName>& holders,
                  const std::vector<client::Reply>& replies, std::string_view proclaimed);

}  // namespace zklock::recipes
