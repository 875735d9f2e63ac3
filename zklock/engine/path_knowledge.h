// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "zklock/client/port/reply.h"
#include "zklock/core/session.h"
#include "zklock/core/znode_name.h"
#include "zklock/fencing_token.h"

namespace zklock::detail {

class EngineContext;
class PathLock;

/// Records what the replies of the servers showed about a lock path. That is the sequence counter,
/// this client's newest znode, whether the path exists, and how many recent grants waited.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. Part of its path lock.
class PathKnowledge {
 public:
  /// `counter_ended`: the path's sequence counter was at its end when it was last read.
  PathKnowledge(PathLock& path, bool counter_ended)
      : path_(path), counter_has_ended_(counter_ended) {}
  PathKnowledge(const PathKnowledge&) = delete;
  PathKnowledge& operator=(const PathKnowledge&) = delete;

  /// Records a new znode of this client: its sequence number, its czxid and its session. Returns
  /// true if the sequence numbers began again, because the path was recreated. Then the older
  /// znodes of this client were deleted with the old path, and their contenders have been notified.
  /// The new znode can have the name of an older one. So a request that names the older znode may
  /// have been executed on the new one.
  ///
  /// If the session is new, all knowledge that depends on earlier czxids is forgotten. The ensemble
  /// may have been emptied or restored, and then the czxids begin again too.
  bool record_own_node(core::Sequence number, FencingToken token, core::SessionId session);
  /// Returns the time at which a recreation of the path was last noticed. A create that was sent
  /// before that time may have reused an older znode's name. A late delete of the older znode may
  /// then have deleted the new one.
  core::Instant recreation_noticed_at() const noexcept { return recreation_noticed_at_; }
  /// Returns whether the znode with this czxid is known to have been deleted with its path.
  bool is_stale(FencingToken token) const noexcept {
    return newest_deleted_ != FencingToken{} && token <= newest_deleted_;
  }
  /// Records a sequence number that a server gave to a child, or will give to the next child.
  void record_sequence(core::Sequence number);
  /// Returns whether the sequence counter was at its end when it was last read. Then no contender
  /// creates a znode, except to delete orphaned delay markers. Its sequence number would be
  /// unusable. Besides, the path can be recreated only while it has no children.
  bool counter_has_ended() const noexcept { return counter_has_ended_; }
  /// Records the stat of the lock path in a successful reply. Ignores other replies.
  void record_stat(const client::Reply& stat);

  /// Returns whether the next create of a contender also creates the path. That is so if the client
  /// predicts a new path, and no reply and no earlier create makes this path likely to exist.
  bool should_create_path() const noexcept;
  /// Records that the path exists, or that a create of it was sent.
  void record_path_exists() noexcept { path_likely_exists_ = true; }
  /// Records what the reply to the create of a contender shows about the path. `makes_path`: as in
  /// the request.
  void record_create(const client::Reply& created, bool makes_path) noexcept;

  /// Returns whether the last kCrowded grants all had to wait. Then a new contender very probably
  /// does not find the lock free.
  bool is_crowded() const noexcept { return waited_in_a_row_ >= kCrowded; }
  /// Records the grant of a znode. `waited`: it had to wait for another znode.
  void record_grant(bool waited) noexcept {
    waited_in_a_row_ = waited ? std::min(waited_in_a_row_ + 1, kCrowded) : 0;
    free_in_a_row_ = waited ? 0 : std::min(free_in_a_row_ + 1, kContendedFor);
  }
  /// Returns whether one of the last kContendedFor grants waited. Then another contender probably
  /// comes again.
  bool was_contended() const noexcept { return free_in_a_row_ < kContendedFor; }

 private:
  static constexpr int kCrowded = 4;       ///< grants in a row that had to wait
  static constexpr int kContendedFor = 8;  ///< grants

  EngineContext& context() const noexcept;

  PathLock& path_;
  int waited_in_a_row_ = 0;  ///< latest grants that all had to wait
  /// Latest grants that did not have to wait, up to kContendedFor.
  int free_in_a_row_ = kContendedFor;
  bool counter_has_ended_;
  bool path_likely_exists_ = false;  ///< see should_create_path()
  core::Sequence newest_number_{};
  FencingToken newest_{};  ///< czxid of this client's newest znode
  core::SessionId newest_session_{};
  FencingToken newest_deleted_{};  ///< newest czxid deleted with its path
  core::Instant recreation_noticed_at_{};
};

}  // namespace zklock::detail
