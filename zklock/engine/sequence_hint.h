// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <optional>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/epoch.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/fencing_token.h"

namespace zklock::detail {

class PathContext;

/// Shows by sequence numbers alone that a new znode of this client is first in the queue. Suppose
/// that this client held the lock by the znode with number k, and that znode is deleted. Then its
/// znode with number k + 1 in the same path is first.
///
/// Why: ZooKeeper counts all children that were ever created in a path, so no child was created
/// between znode k and znode k + 1. And when k was granted exclusively, every contender ahead of it
/// had released or its znode had been deleted.
///
/// A watch on the path shows that the path was not recreated. If the path's czxid is lower than
/// that of znode k, then znode k was created in this path. The path exists until the watch fires. A
/// server sends a watch event before the replies to later operations, so a recreated path is known
/// before the reply to the create arrives. A watch does not report what happened without a
/// connection: each connection needs a new watch.
///
/// If other clients acquire the lock too, the number k + 1 is rarely this client's. A wrong guess
/// costs a list of the children. So this client relies on the number only after two of its grants
/// had adjacent numbers and were less than a second apart. The later of the two is called adjacent.
///
/// | watch      | event                                         | next       |
/// |------------|-----------------------------------------------|------------|
/// | off        | an adjacent grant                             | requesting |
/// | requesting | the path exists, and the watch is set         | armed      |
/// |            | any other reply                               | off        |
/// |            | an adjacent grant on another connection       | requesting |
/// | armed      | the path was deleted or its data were written | off        |
/// |            | an adjacent grant on another connection       | requesting |
/// | all        | no grant for a second; the last public object | off        |
/// |            | on the path is destroyed                      |            |
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. The path lock owns this object.
class SequenceHint {
 public:
  /// The limit for one client. It may use many paths, and the watches of a session are bounded. The
  /// waiting contenders need most of them.
  static constexpr int kMostWatchedPaths = 500;

  explicit SequenceHint(PathContext& path) : path_(path) {}
  SequenceHint(const SequenceHint&) = delete;
  SequenceHint& operator=(const SequenceHint&) = delete;

  /// Records the grant of a znode with this number. REQUIRES: LockNode::goes_by_number() is true.
  void on_granted(core::Sequence number, core::Instant now);
  /// Records that the granted znode is being deleted. Returns a callback that records the end of
  /// the delete; empty without a watch. The caller calls it when the ensemble has confirmed the
  /// delete. Before that, is_first() is false.
  [[nodiscard]] std::function<void()> on_release(core::Sequence number, FencingToken token);
  /// Returns whether a new znode of this client will probably be first by its number.
  bool expects_first() const noexcept { return is_adjacent_ && is_known(); }
  /// Returns whether the new znode with this number is first. REQUIRES: the reply to its create has
  /// just arrived.
  bool is_first(core::Sequence number) const noexcept;
  /// Forgets the last granted znode. In a new session, czxids may be lower than before.
  void forget() noexcept { last_.reset(); }
  /// Removes the watch.
  void end() noexcept;

 private:
  void assert_invariants() const noexcept {
    assert(is_counted_ || (watch_ == client::RequestId{} && timer_ == client::TimerId{}));
    assert(is_counted_ || path_czxid_ == core::Zxid{});
  }
  template <class Step>
  auto of_this_watch(Step step);
  bool watch();
  void look_again(core::Instant when);
  void on_answered(const client::Reply& reply);
  bool is_known() const noexcept;

  struct Last {
    core::Sequence number;
    FencingToken token;
    bool is_deleted = false;
  };

  PathContext& path_;
  std::optional<Last> last_;
  core::Sequence granted_{-2};  ///< last granted; -2: none, not adjacent to any
  bool is_adjacent_ = false;    ///< the last grant was adjacent
  core::Instant granted_at_{};
  core::Instant not_before_{};  ///< earliest time of a new watch
  bool is_counted_ = false;     ///< counted in PathFacts::watched
  client::RequestId watch_{};
  client::TimerId timer_{};       ///< set while a watch exists
  Epoch epoch_;                   ///< of the watch
  std::uint64_t connection_ = 0;  ///< connection on which the watch was requested
  core::Zxid path_czxid_{};       ///< czxid of the path; 0: not armed
};

}  // namespace zklock::detail
