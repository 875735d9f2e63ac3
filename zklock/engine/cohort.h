// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/acquire_fsm.h"
#include "zklock/core/cohort_policy.h"
#include "zklock/engine/arrival_watch.h"
#include "zklock/engine/cohort_member.h"
#include "zklock/engine/epoch.h"
#include "zklock/engine/lock_node.h"
#include "zklock/engine/path_queue.h"
#include "zklock/engine/release_plan.h"
#include "zklock/error.h"

namespace zklock::detail {

/// The contenders of one client at one path that share a lock node, and so a lock znode. Their
/// policies are equal in all that agrees() compares. After a release, the cohort can retain the
/// granted lock node without a holder: then the lock node is idle.
///
/// At most one contender is in the lock node: it holds, or the grant of the lock node will be its
/// grant. The other contenders are behind it. They wait in this client only, first come first
/// served.
///
/// The count is the number of children of the lock path (request CountChildren). It shows whether
/// another client waits. If the lock node may have a marker, the contenders in a list of the
/// children are counted instead. For an idle lock node, a list of the children with a watch
/// (ArrivalWatch) shows this too. The budget (CohortBudget) limits the grants since the last count
/// that showed no other client.
///
/// | state  | shared lock node    | contender in it | contenders behind it                      |
/// |--------|---------------------|-----------------|-------------------------------------------|
/// | none   | none                | none            | none                                      |
/// | queued | waits for its grant | waits           | any number                                |
/// | held   | granted             | holds           | any number                                |
/// | idle   | granted             | none            | none; or those that wait for the count or |
/// |        |                     |                 | the list                                  |
///
/// | state  | event                                         | next                                    |
/// |--------|-----------------------------------------------|-----------------------------------------|
/// | none   | a contender begins to wait                    | queued; none, if it gets a lock node of |
/// |        |                                               | its own                                 |
/// |        | a contender is granted in its own lock node   | held                                    |
/// | queued | the lock node is granted                      | held                                    |
/// |        | the contender in it leaves                    | queued, with the first one behind; or   |
/// |        |                                               | none                                    |
/// |        | the acquire fails                             | none; all contenders behind fail        |
/// | held   | released after another client requested that, | none; the znode is released             |
/// |        | or without the delay marker of a lock delay   |                                         |
/// |        | released, a contender is behind, and the      | held, by the first one behind           |
/// |        | budget permits a grant                        |                                         |
/// |        | released, no contender is behind, and the     | idle                                    |
/// |        | lock node is to be retained (may_idle())      |                                         |
/// |        | released, a contender is behind, the budget   | idle                                    |
/// |        | is used up, the count is under way, no reply  |                                         |
/// |        | has shown another client, and the lock node   |                                         |
/// |        | was granted without waiting for a predecessor |                                         |
/// |        | released in any other case                    | none; the znode is released             |
/// |        | the count arrives, and the grants since it    | held; the count is requested again      |
/// |        | was requested used most of the budget         |                                         |
/// | idle   | a contender arrives, and the budget permits a | held                                    |
/// |        | grant or the watch is armed                   |                                         |
/// |        | the count shows no other client, a contender  | idle; the children are listed           |
/// |        | is behind, and the grants since the count was |                                         |
/// |        | requested used up the budget                  |                                         |
/// |        | the count or list shows no other client, and  | held                                    |
/// |        | a contender is behind                         |                                         |
/// |        | the count arrives, no contender is behind,    | idle; the children are listed           |
/// |        | and keep_idle_for is not 0                    |                                         |
/// |        | the count arrives, no contender is behind,    | none; the znode is released             |
/// |        | and keep_idle_for is 0                        |                                         |
/// |        | another client may wait; or keep_idle_for has | none; the znode is released             |
/// |        | passed without a contender behind; or a       |                                         |
/// |        | release is requested; or the last public      |                                         |
/// |        | object is destroyed                           |                                         |
/// |        | the lease lapses, or another client deletes   | none                                    |
/// |        | the znode                                     |                                         |
/// | all    | the lock node ends in any other way           | none                                    |
///
/// For a state and an event, the first row that applies decides. If the lock node is released or
/// lost, the contenders behind it get a new lock node. Then the next state is queued instead of
/// none.
///
/// While there is no shared lock node, a single attempt gets its own. If max_local_handoffs is 1,
/// every contender gets its own, except behind an idle shared lock node. When a lock node of a
/// contender's own is granted, and there is no shared one, it becomes the shared one.
///
/// If there is a shared lock node, a single attempt ends without a grant, with one exception. If
/// the lock node is idle without a contender behind it, the single attempt is granted, or waits for
/// the count or the list.
///
/// Contenders wait behind an idle lock node also if max_local_handoffs is 1. When the first of them
/// is granted, each other one gets a lock node of its own.
///
/// A contender is granted only under a valid lease. If the lease has lapsed at a hand-off, the lock
/// node is deleted.
///
/// Thread-safety: none. REQUIRES: path_mutex is held. The path lock owns this object.
class Cohort final : private LockNodeObserver, public std::enable_shared_from_this<Cohort> {
 public:
  /// `policy`: the policy of all contenders, except `wait`, `always_list` and
  /// `count_children`, which may differ.
  Cohort(PathQueue& path, core::AcquireFsm::Policy policy, core::CohortPolicy cohort_policy);
  Cohort(const Cohort&) = delete;
  Cohort& operator=(const Cohort&) = delete;

  /// Returns whether contenders with these two policies share this cohort.
  bool agrees(const core::AcquireFsm::Policy& policy,
              const core::CohortPolicy& cohort_policy) const noexcept;
  const core::AcquireFsm::Policy& policy() const noexcept { return policy_; }
  bool has_node() const noexcept ZKLOCK_REQUIRES(path_mutex) { return node_ != nullptr; }
  /// Returns the shared lock node if it is idle, else null.
  std::shared_ptr<const LockNode> idle_node() const noexcept ZKLOCK_REQUIRES(path_mutex);

  // Called by contenders.
  /// Adds a contender that begins to wait. It gets into a lock node now or later. If it is a single
  /// attempt that ends without a grant, calls its on_ended().
  void begin(const std::shared_ptr<CohortMember>& member, const Caller& caller)
      ZKLOCK_REQUIRES(path_mutex);
  /// Removes a contender that stops waiting. If it was in a lock node, the first one behind takes
  /// that over. Returns false only if it was in a lock node and none is behind. Then the caller
  /// must withdraw the lock node.
  bool leave(const CohortMember& member) ZKLOCK_REQUIRES(path_mutex);
  /// Returns 0 if the contender is in a lock node, 1 if it is the first one behind the shared lock
  /// node, and so on.
  std::size_t members_ahead(const CohortMember& member) const ZKLOCK_REQUIRES(path_mutex);
  /// Records that `lock_node` was granted to `member`. If there is no shared lock node, it becomes
  /// the shared one. Returns how many contenders were granted on this znode before.
  std::uint64_t record_grant(const std::shared_ptr<LockNode>& lock_node,
                             const std::shared_ptr<CohortMember>& member)
      ZKLOCK_REQUIRES(path_mutex);
  /// Decides what to do after the contender in the lock node has released. Returns nothing if the
  /// znode has to be deleted.
  std::optional<ReleasePlan> decide_release(const LockNode& lock_node) const
      ZKLOCK_REQUIRES(path_mutex);
  /// Carries out a plan that decide_release() has returned.
  void execute(ReleasePlan plan) ZKLOCK_REQUIRES(path_mutex);
  /// Forgets the lock node, which has been lost or released. The contenders behind it get a new
  /// lock node. Does not delete the znode. Does nothing if the lock node is not the shared one.
  void on_node_removed(const LockNode& lock_node) ZKLOCK_REQUIRES(path_mutex);

  /// Releases the lock node if it is idle.
  void end_idling() ZKLOCK_REQUIRES(path_mutex);
  void on_path_recreated() ZKLOCK_REQUIRES(path_mutex);
  /// Forgets the lock node and all contenders: the client is closing. The path lock notifies the
  /// contenders.
  void close() ZKLOCK_REQUIRES(path_mutex);
  void assert_invariants() const noexcept ZKLOCK_REQUIRES(path_mutex);

 private:
  enum class State { none, queued, held, idle };
  struct Waiting {
    std::shared_ptr<CohortMember> member;
    Caller caller;  ///< the caller named in its znode's data
  };

  // Events of the shared lock node.
  void on_granted(core::Instant now) override ZKLOCK_REQUIRES(path_mutex);
  void on_failed(Errc error, const std::string& cause) override ZKLOCK_REQUIRES(path_mutex);
  void on_ended() override ZKLOCK_REQUIRES(path_mutex);
  void on_lost(LossReason why) override ZKLOCK_REQUIRES(path_mutex);
  void on_position(std::size_t position) override ZKLOCK_REQUIRES(path_mutex);
  void on_suspended() override ZKLOCK_REQUIRES(path_mutex);
  void on_resumed() override ZKLOCK_REQUIRES(path_mutex);
  void on_release_requested(bool force) override ZKLOCK_REQUIRES(path_mutex);
  void on_unreachable(const std::string& cause) override ZKLOCK_REQUIRES(path_mutex);
  void on_tick() override ZKLOCK_REQUIRES(path_mutex);

  bool is_shared(const LockNode& lock_node) const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return node_.get() == &lock_node;
  }
  /// Fast for the last one too: one stop source ends its calls in the reverse order.
  std::deque<Waiting>::const_iterator find(const CohortMember& member) const
      ZKLOCK_REQUIRES(path_mutex);
  void wait_behind(const std::shared_ptr<CohortMember>& member, const Caller& caller)
      ZKLOCK_REQUIRES(path_mutex);
  Waiting take_next() ZKLOCK_REQUIRES(path_mutex);
  void queue(const std::shared_ptr<CohortMember>& member, Caller caller)
      ZKLOCK_REQUIRES(path_mutex);
  void set_node(std::shared_ptr<LockNode> lock_node, const std::shared_ptr<CohortMember>& member,
                State state) ZKLOCK_REQUIRES(path_mutex);
  std::shared_ptr<LockNode> forget_node() ZKLOCK_REQUIRES(path_mutex);
  void delete_node(LockNode::RemovalCause cause) ZKLOCK_REQUIRES(path_mutex);
  void queue_waiting() ZKLOCK_REQUIRES(path_mutex);
  bool hand_to(const std::shared_ptr<CohortMember>& member) ZKLOCK_REQUIRES(path_mutex);
  void hand_to_next() ZKLOCK_REQUIRES(path_mutex);
  void serve_idle() ZKLOCK_REQUIRES(path_mutex);
  bool may_serve_idle() const ZKLOCK_REQUIRES(path_mutex);
  bool may_idle() const ZKLOCK_REQUIRES(path_mutex);
  void become_idle() ZKLOCK_REQUIRES(path_mutex);
  void look_for_arrivals() ZKLOCK_REQUIRES(path_mutex);
  void on_arrival() ZKLOCK_REQUIRES(path_mutex);
  void on_listed(const client::Reply& reply) ZKLOCK_REQUIRES(path_mutex);
  void count_if_due() ZKLOCK_REQUIRES(path_mutex);
  void on_counted(const client::Reply& reply, std::size_t contenders) ZKLOCK_REQUIRES(path_mutex);
  void notify_position(std::size_t index) ZKLOCK_REQUIRES(path_mutex);
  void notify_positions(std::size_t from) ZKLOCK_REQUIRES(path_mutex);

  PathQueue& path_;
  const core::AcquireFsm::Policy policy_;
  const core::CohortPolicy cohort_policy_;

  State state_ ZKLOCK_GUARDED_BY(path_mutex) = State::none;
  std::shared_ptr<LockNode> node_ ZKLOCK_GUARDED_BY(path_mutex);
  Epoch epoch_ ZKLOCK_GUARDED_BY(path_mutex);  ///< of the shared lock node
  /// The contender in the lock node.
  std::weak_ptr<CohortMember> member_ ZKLOCK_GUARDED_BY(path_mutex);
  std::deque<Waiting> waiting_ ZKLOCK_GUARDED_BY(path_mutex);  ///< behind the lock node
  // The following members describe the shared lock node.
  ArrivalWatch arrivals_ ZKLOCK_GUARDED_BY(path_mutex);
  core::CohortBudget budget_ ZKLOCK_GUARDED_BY(path_mutex);
  std::uint64_t grants_ ZKLOCK_GUARDED_BY(path_mutex) = 0;        ///< on its znode
  bool release_requested_ ZKLOCK_GUARDED_BY(path_mutex) = false;  ///< no further hand-off
  /// In the path's queue; nothing if unknown.
  std::optional<std::size_t> position_ ZKLOCK_GUARDED_BY(path_mutex);
  core::Instant idle_since_ ZKLOCK_GUARDED_BY(path_mutex){};
};

}  // namespace zklock::detail
