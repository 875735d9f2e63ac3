// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

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

/// The part of a path lock that its lock nodes share. It collects what the replies of the servers
/// show about the queue. That is the sequence counter, this client's newest znode, and how many
/// recent grants waited. It also has the lock nodes with a local queue and the limit of creates.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held.
class PathQueue : public PathContext {
 public:
  /// `counter_ended`: the path's sequence counter was at its end when it was last read.
  PathQueue(std::shared_ptr<EngineContext> context, core::LockPath path, bool counter_ended);

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
  bool should_create_path() const noexcept {
    return !path_likely_exists_ && context().path_facts().predicts_new_path();
  }
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
  /// Returns whether a new contender sends no count of the children. That is so if the path is
  /// crowded, or if the sequence number of the new znode will probably show that it is first.
  bool omits_count() const noexcept { return is_crowded() || sequence_hint_.expects_first(); }

  /// Called by each lock node that waits or is held, at each tick of the LeaseKeeper. `tick`: its
  /// number.
  virtual void on_tick(std::uint64_t tick) = 0;

  /// Returns the lock nodes that have a local queue. No two have equal policies.
  const std::vector<std::shared_ptr<LockNode>>& shared_nodes() const noexcept {
    return shared_nodes_;
  }
  void add_shared_node(std::shared_ptr<LockNode> node) { shared_nodes_.push_back(std::move(node)); }
  void remove_shared_node(const LockNode& node) noexcept {
    std::erase_if(shared_nodes_, [&](const auto& each) { return each.get() == &node; });
  }

  SequenceHint& sequence_hint() noexcept { return sequence_hint_; }
  SessionHandoff& session_handoff() noexcept { return session_handoff_; }
  LateCreates& late_creates() noexcept { return late_creates_; }
  CreateLimiter& create_limiter() noexcept { return create_limiter_; }

 protected:
  /// Notifies the lock nodes of this client that may have been deleted with the old path.
  virtual void on_path_recreated() = 0;

 private:
  static constexpr int kCrowded = 4;       ///< grants in a row that had to wait
  static constexpr int kContendedFor = 8;  ///< grants

  SequenceHint sequence_hint_{*this};
  SessionHandoff session_handoff_;
  std::vector<std::shared_ptr<LockNode>> shared_nodes_;
  LateCreates late_creates_{*this};
  CreateLimiter create_limiter_{context().settings().creates_at_once};
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
