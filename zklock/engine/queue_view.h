// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zklock/client/port/reply.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/session.h"
#include "zklock/core/znode_name.h"
#include "zklock/lock_state.h"
#include "zklock/participant.h"

namespace zklock::detail {

// Pure: nothing here sends a request, blocks or locks a mutex.

/// Content of a list of children.
struct Queue {
  std::vector<core::ZnodeName> contenders;  ///< in the order of core::contenders()
  /// Length of the longest delay; if there is one, no contender holds. See core/lock_delay.h.
  std::optional<std::chrono::milliseconds> lock_delay;
  core::Zxid as_of;  ///< zxid of the last change of the children
  /// The times in the hold markers, in milliseconds since 1970, by sequence number.
  std::map<core::Sequence, std::int64_t> held_since_ms;

  static Queue of(const client::Reply& list);
  /// Returns whether the reply to a Get of a listed znode shows that it was deleted. It does so if
  /// the znode is newer than the list: then the path was deleted and recreated.
  bool is_deleted(const client::Reply& reply) const noexcept;
};

/// Recognises one client's znodes in a queue. A readable znode is one of them if the client's
/// session created it. An unreadable znode is one of them if a contender of the client has its
/// sequence number. Names are not compared: a downgrade may be changing one.
///
/// Thread-safety: a value.
class OwnZnodes {
 public:
  /// `names`: PathLock::nodes(); without them, no unreadable znode is recognised. A client without
  /// a session has the empty one.
  explicit OwnZnodes(core::SessionId session, const std::vector<std::string>& names = {});
  /// `reply`: the reply to a Get of the znode.
  bool has(const core::ZnodeName& name, const client::Reply& reply) const;

 private:
  core::SessionId session_;
  std::vector<core::Sequence> numbers_;
};

/// Returns the time of a znode: milliseconds since 1970. A number that another program has written
/// can be too large for the type; then returns the latest time.
std::chrono::system_clock::time_point time_of(std::int64_t ms);

/// Returns the contender with this znode, without Participant::holds and held_since. `reply`: the
/// reply to a Get of the znode. If it is not `ok`, only the name is known.
Participant describe(const core::ZnodeName& name, const client::Reply& reply, const OwnZnodes& own);

/// Sets Participant::holds, and held_since if a hold marker shows it.
void set_holds(Participant& p, const Queue& queue);

/// Part of a queue that a view shows.
struct ViewScope {
  std::size_t most_holders = std::numeric_limits<std::size_t>::max();  ///< that are described
  std::size_t most_waiting = 0;                                        ///< that are described
  /// The view shows a leadership: it has the proclaimed value, but no counts and no lock delay.
  bool is_leadership = false;

  static ViewScope all_holders() noexcept { return {}; }
  static ViewScope first_holder() noexcept { return {.most_holders = 1}; }
  static ViewScope leadership() noexcept { return {.most_holders = 1, .is_leadership = true}; }
};

/// State of a queue, as a client that does not contend sees it.
struct QueueView {
  LockState lock;
  std::vector<Participant> waiters;  ///< at most ViewScope::most_waiting
  std::optional<std::string> proclaimed;
  friend bool operator==(const QueueView&, const QueueView&) = default;
};

/// Builds a view from a list of children and from the data of some of them. The driver sends a Get
/// of each znode in reads(), and passes the replies in this order to take(). Then reads() may
/// contain further znodes:
///
/// | reads(), in this order                 | condition                                     |
/// |----------------------------------------|-----------------------------------------------|
/// | the shared permit count; nothing else  | the holders depend on it                      |
/// | the proclaimed value                   | ViewScope::is_leadership, and the list has it |
/// | holders, then waiting contenders       | the limits of ViewScope                       |
///
/// The value is read before its leader: if a later reply still has the leader's znode, the leader
/// led when the value was read.
///
/// Thread-safety: a value.
class ViewBuilder {
 public:
  struct Read {
    enum class What { permit_count, proclaimed_value, holder, waiter } what;
    std::string child;
    /// Returns whether its data can change while the queue stays as it is.
    bool can_change() const noexcept {
      return what == What::permit_count || what == What::proclaimed_value;
    }
  };

  ViewBuilder() = default;
  /// `list`: the reply to a list; no_node is an empty queue.
  ViewBuilder(const client::Reply& list, ViewScope scope);

  const Queue& queue() const noexcept { return queue_; }
  /// Returns the znodes to be read. The next take() or omit() invalidates the result.
  std::span<const Read> reads() const noexcept { return std::span(reads_).subspan(next_); }

  // `reply`: the reply to the Get of reads().front(). REQUIRES: reads() is not empty.

  /// Returns whether `reply` shows that a listed znode was deleted meanwhile.
  bool is_outdated_by(const client::Reply& reply) const noexcept;
  /// Returns whether `reply` lacks data that are needed. Those of an unreadable contender are not
  /// needed. Nor is a permit count that is missing or unreadable: then no contender holds.
  bool lacks(const client::Reply& reply) const noexcept;
  /// Adds `reply`, whatever its status is.
  void take(const client::Reply& reply, const OwnZnodes& own);
  /// Leaves the contender out.
  void omit() noexcept { ++next_; }

  /// Returns the view. It is complete when reads() is empty.
  const QueueView& view() const noexcept { return view_; }
  /// Returns the permit count; nullopt if there is none, or its znode is missing, unreadable or
  /// contains no number.
  std::optional<std::int32_t> permits() const noexcept { return permits_; }

 private:
  void choose_contenders();

  ViewScope scope_;
  Queue queue_;
  std::vector<std::string> values_;  ///< listed proclamations, if they matter
  std::vector<Read> reads_;
  std::size_t next_ = 0;
  std::optional<std::int32_t> permits_;
  std::optional<core::Proclamation> value_;
  QueueView view_;
};

}  // namespace zklock::detail
