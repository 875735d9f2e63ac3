// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "zklock/core/znode_name.h"
#include "zklock/engine/watch_slot.h"
#include "zklock/fencing_token.h"

namespace zklock::detail {

class PathLock;

/// Shows by sequence numbers alone that a new znode of this client is first in the queue. Suppose
/// that this client held the lock by the znode with number k, and that znode is deleted. Then its
/// znode with number k + 1 in the same path is first.
///
/// Why: ZooKeeper counts all children that were ever created in a path, so none was created between
/// the two. And when znode k was granted, every contender ahead of it had released, or its znode
/// had been deleted.
///
/// A watch on the path shows that the path was not recreated. If the path's czxid is lower than
/// that of znode k, then znode k was created in this path. The path exists until the watch fires. A
/// server sends a watch event before the replies to later operations, so a recreated path is known
/// before the reply to the create arrives. A watch does not report what happened without a
/// connection, so each connection needs a new one.
///
/// If other clients acquire the lock too, the number k + 1 is rarely this client's. If it was
/// expected wrongly, a list of the children follows. So this client relies on the number only after
/// two of its grants had adjacent numbers and were less than a second apart. It sets the watch
/// then, and removes it after a second without a grant. A write to the data of the path ends the
/// watch too.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. The path lock owns this object.
class SequenceHint {
 public:
  /// The limit for one client: the waiting contenders need most watches of its session.
  static constexpr int kMostWatchedPaths = 500;

  explicit SequenceHint(PathLock& path) : path_(path) {}

  /// Records the grant of a znode with this number. REQUIRES: LockNode::may_feed_sequence_hint() is
  /// true.
  void on_granted(core::Sequence number, core::Instant now);
  /// Records that the granted znode is being deleted. Returns a callback for the time when the
  /// ensemble has confirmed that; empty without a watch. is_first() is false before.
  [[nodiscard]] std::function<void()> on_release(core::Sequence number, FencingToken token);
  /// Returns whether a new znode of this client will probably be first by its number.
  bool expects_first() const noexcept { return is_adjacent_ && is_known(); }
  /// Returns whether this znode is first. REQUIRES: the reply to its create has just arrived.
  bool is_first(core::Sequence number) const noexcept {
    return is_known() && last_->is_deleted && number.value == last_->number.value + 1;
  }
  /// Forgets the last granted znode. In a new session, czxids may be lower than before.
  void forget() noexcept { last_.reset(); }
  /// Removes the watch.
  void end() noexcept;

 private:
  static constexpr std::chrono::seconds kLongestRest{1};
  static constexpr std::chrono::minutes kPauseAfterRefusal{1};
  bool is_known() const noexcept;
  void watch();
  void rest_until(core::Instant when);
  struct Last {
    core::Sequence number;
    FencingToken token;
    bool is_deleted = false;
  };

  PathLock& path_;
  std::optional<Last> last_;
  core::Sequence granted_{-2};  ///< last granted; -2: none, not adjacent to any
  bool is_adjacent_ = false;    ///< the last grant was adjacent
  core::Instant granted_at_{};
  core::Instant not_before_{};    ///< earliest time of a new watch
  WatchSlot watch_;               ///< counted in PathFacts::watched unless free
  client::TimerId timer_{};       ///< set while a watch exists
  std::uint64_t connection_ = 0;  ///< connection on which the watch was requested
  core::Zxid path_czxid_{};       ///< of the path; 0: not armed
};

}  // namespace zklock::detail
