// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/create_limiter.h"
#include "zklock/engine/late_creates.h"
#include "zklock/engine/path_context.h"
#include "zklock/engine/sequence_hint.h"
#include "zklock/engine/session_handoff.h"
#include "zklock/fencing_token.h"

namespace zklock::detail {

class LockNode;

/// Collects what the replies of the servers show about the queue of one lock path. That is the
/// sequence counter, the newest own znode, and how many grants had to wait lately.
///
/// Thread-safety: none. REQUIRES: path_mutex is held.
class PathQueue : public PathContext {
 public:
  /// `counter_ended`: the path's sequence counter was at its end when it was last read.
  PathQueue(std::shared_ptr<EngineContext> core, core::LockPath path, bool counter_ended);

  /// Records a new znode of this client: its sequence number, its czxid and its session. Returns
  /// true if the sequence numbers began again, because the path was recreated. Then the older
  /// znodes of this client were deleted with the old path, and their contenders have been notified.
  /// The new znode can have the name of an older one. So a request that names the older znode may
  /// have been executed on the new one.
  ///
  /// If the session is new, all knowledge that depends on earlier czxids is forgotten. The ensemble
  /// may have been emptied or restored, and then the czxids begin again too.
  bool record_own_node(core::Sequence number, FencingToken token, core::SessionId session)
      ZKLOCK_REQUIRES(path_mutex);
  /// Returns the time at which a recreation of the path was last noticed. A create that was sent
  /// before that time may have reused an older znode's name. A late delete of the older znode may
  /// then have deleted the new one.
  core::Instant recreation_noticed_at() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return recreation_noticed_at_;
  }
  /// Returns whether the znode with this czxid is known to have been deleted with its path.
  bool is_stale(FencingToken token) const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return newest_deleted_ != FencingToken{} && token <= newest_deleted_;
  }
  /// Records a sequence number that a server gave to a child, or will give to the next child.
  void record_sequence(core::Sequence number) ZKLOCK_REQUIRES(path_mutex);
  /// Returns whether the sequence counter was at its end when it was last read. Then no contender
  /// creates a znode, except to delete orphaned delay markers. Its sequence number would be
  /// unusable. Besides, the path can be recreated only while it has no children.
  bool counter_has_ended() const noexcept ZKLOCK_REQUIRES(path_mutex) { return counter_has_ended_; }
  /// Records the stat of the lock path in a successful reply. Ignores other replies.
  void record_stat(const client::Reply& stat) ZKLOCK_REQUIRES(path_mutex);

  /// Returns whether the next create of a contender also creates the path. That is so if the client
  /// predicts a new path, and no reply and no earlier create makes this path likely to exist.
  bool should_create_path() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return !path_likely_exists_ && core().path_facts().predicts_new_path();
  }
  /// Records that the path exists, or that a create of it was sent.
  void record_path_exists() noexcept ZKLOCK_REQUIRES(path_mutex) { path_likely_exists_ = true; }
  /// Records what the reply to the create of a contender shows about the path. `makes_path`: as in
  /// the request.
  void record_create(const client::Reply& created, bool makes_path) noexcept
      ZKLOCK_REQUIRES(path_mutex);

  /// Returns whether at least the last four grants had to wait. Then a new contender very probably
  /// does not find the lock free.
  bool is_crowded() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return waited_in_a_row_ >= kCrowded;
  }
  /// Records the grant of a znode. `waited`: it had to wait for another znode.
  void record_grant(bool waited) noexcept ZKLOCK_REQUIRES(path_mutex) {
    waited_in_a_row_ = waited ? std::min(waited_in_a_row_ + 1, kCrowded) : 0;
    free_in_a_row_ = waited ? 0 : std::min(free_in_a_row_ + 1, kContendedFor);
  }
  /// Returns whether one of the last eight grants had to wait. Then another contender probably comes
  /// again.
  bool was_contended() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return free_in_a_row_ < kContendedFor;
  }
  /// Returns whether a new contender sends no count of the children. That is so if the path is
  /// crowded, or if the sequence number of the new znode will probably show that it is first.
  bool omits_count() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return is_crowded() || sequence_hint_.expects_first();
  }

  /// Returns the lease for a grant on `session` now; null if it does not suffice.
  const std::shared_ptr<core::Lease>& lease_for_grant(core::SessionId session)
      ZKLOCK_REQUIRES(path_mutex);
  /// Begins to notify a lock node of the events of the session.
  virtual void enlist_node(LockNode& node) noexcept ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Stops notifying it. Does nothing if the lock node is not enlisted.
  virtual void dismiss_node(LockNode& node) noexcept ZKLOCK_REQUIRES(path_mutex) = 0;

  SequenceHint& sequence_hint() noexcept ZKLOCK_REQUIRES(path_mutex) { return sequence_hint_; }
  SessionHandoff& session_handoff() noexcept ZKLOCK_REQUIRES(path_mutex) {
    return session_handoff_;
  }
  LateCreates& late_creates() noexcept ZKLOCK_REQUIRES(path_mutex) { return late_creates_; }
  CreateLimiter& create_limiter() noexcept ZKLOCK_REQUIRES(path_mutex) { return create_limiter_; }

 protected:
  /// Notifies the lock nodes of this client that may have been deleted with the old path.
  virtual void on_path_recreated() ZKLOCK_REQUIRES(path_mutex) = 0;

 private:
  static constexpr int kCrowded = 4;       ///< grants in a row that had to wait
  static constexpr int kContendedFor = 8;  ///< grants

  SequenceHint sequence_hint_ ZKLOCK_GUARDED_BY(path_mutex){*this};
  SessionHandoff session_handoff_ ZKLOCK_GUARDED_BY(path_mutex);
  LateCreates late_creates_ ZKLOCK_GUARDED_BY(path_mutex){*this};
  std::shared_ptr<core::Lease> lease_ ZKLOCK_GUARDED_BY(path_mutex);  ///< of the last grant
  CreateLimiter create_limiter_ ZKLOCK_GUARDED_BY(path_mutex){core().settings().creates_at_once};
  int waited_in_a_row_ ZKLOCK_GUARDED_BY(path_mutex) = 0;  ///< latest grants that all had to wait
  /// Latest grants that all had not to wait, up to kContendedFor.
  int free_in_a_row_ ZKLOCK_GUARDED_BY(path_mutex) = kContendedFor;
  bool counter_has_ended_ ZKLOCK_GUARDED_BY(path_mutex);
  bool path_likely_exists_ ZKLOCK_GUARDED_BY(path_mutex) = false;  ///< see should_create_path()
  core::Sequence newest_number_ ZKLOCK_GUARDED_BY(path_mutex){};
  FencingToken newest_ ZKLOCK_GUARDED_BY(path_mutex){};  ///< czxid of this client's newest znode
  core::SessionId newest_session_ ZKLOCK_GUARDED_BY(path_mutex){};
  FencingToken newest_deleted_
      ZKLOCK_GUARDED_BY(path_mutex){};  ///< newest czxid deleted with its path
  core::Instant recreation_noticed_at_ ZKLOCK_GUARDED_BY(path_mutex){};
};

}  // namespace zklock::detail
