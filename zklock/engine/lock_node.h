// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/intrusive/list_hook.hpp>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/cohort_policy.h"
#include "zklock/core/hold_marker.h"
#include "zklock/core/lazy.h"
#include "zklock/core/validity_period.h"
#include "zklock/engine/downgrade.h"
#include "zklock/engine/local_queue.h"
#include "zklock/engine/node_watches.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/session/background_work.h"
#include "zklock/engine/session/lease_keeper.h"

namespace zklock::detail {

/// One lock znode, from its create to its delete. At most one contender is in the lock node: it
/// waits for the grant, or holds. The lock node carries out the effects of the acquire machine
/// (core::AcquireFsm) by requests to the coordinator. It reports grant, failure and loss to that
/// contender. Contenders with equal policies (see agrees()) can share a lock node. Then it has a
/// LocalQueue, and the other contenders are behind the one in the lock node. A downgrade replaces a
/// writer's znode by a reader's. So does the move from the gate of a PriorityMutex to the queue.
///
/// | state     | contender in it | znode           | ends with                                |
/// |-----------|-----------------|-----------------|------------------------------------------|
/// | queued    | waits           | may exist       | grant; error; leave(); a single attempt  |
/// |           |                 |                 | that is not first                        |
/// | abandoned | none            | may exist       | the machine ends                         |
/// | held      | holds           | exists          | release; loss                            |
/// | idle      | none            | exists          | see LocalQueue                           |
/// | ended     | any             | may exist (1)   |                                          |
///
/// (1) If it does, it is deleted by the Cleaner, perhaps after the loss callbacks, or by the end of
/// the session.
///
/// At a hand-off to the next contender of its local queue, the lock node stays held.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. The destructor requires it only if the
/// lock node is enlisted with the LeaseKeeper.
class LockNode final : private LeaseObserver, public std::enable_shared_from_this<LockNode> {
 public:
  /// Returns the lock node for a new contender: the path's shared one if its local queue takes the
  /// contender, else a new one.
  static std::shared_ptr<LockNode> for_contender(const std::shared_ptr<PathLock>& path,
                                                 Caller caller,
                                                 const core::AcquireFsm::Policy& policy,
                                                 core::CohortPolicy cohort_policy);
  /// `caller`: its owner, thread, label and note are written into the znode's data.
  LockNode(std::shared_ptr<PathLock> path, Caller caller, core::AcquireFsm::Policy policy,
           core::CohortPolicy cohort_policy);
  ~LockNode();

  // Called by contenders.
  /// Adds a contender that begins to wait, in this lock node or behind it. A new lock node begins
  /// to enqueue.
  void admit(const std::shared_ptr<Contender>& contender, const Caller& caller);
  /// Removes a contender that stops waiting. If no other one takes its place, the machine deletes
  /// the znode.
  void leave(const Contender& contender);
  /// See LocalQueue::count_ahead_of().
  std::size_t count_ahead_of(const Contender& contender) const {
    return local_queue() != nullptr ? local_queue()->count_ahead_of(contender) : 0;
  }
  /// Counts the grant to the contender in the lock node. This can begin a local queue. Returns how
  /// many contenders were granted on this znode before.
  std::uint64_t count_grant();
  /// Called when the contender in the lock node has released. Grants the next contender of the
  /// local queue, or retains the lock node idle. Returns false if the caller must delete the znode.
  bool hand_off_or_retain() { return local_queue() != nullptr && local_queue()->on_release(); }
  /// Ends the local queue. The contenders behind get a new lock node.
  void requeue_behind() {
    if (local_queue() != nullptr)
      requeue(end_local_queue());  // without a local queue, no empty deque is allocated
  }

  /// Returns the caller for whom the znode was created. Constant.
  const Caller& caller() const noexcept { return caller_; }
  EngineLock::Entry entry() const noexcept { return path_->entry(); }
  const core::CohortPolicy& cohort_policy() const noexcept { return cohort_policy_; }
  /// Returns the acquire machine: the policy, the token, the session and the acquire state.
  const core::AcquireFsm& machine() const noexcept { return fsm_; }
  const std::string& own_name() const noexcept {
    return has_downgraded() ? holding_->downgrade.name() : fsm_.node().name();
  }
  using Names = boost::container::small_vector<std::string, 1>;
  /// Returns the names that the znode can have now: two while the outcome of a downgrade is
  /// unknown, else one.
  Names own_names() const;
  const std::shared_ptr<core::Lease>& lease() const noexcept { return lease_; }

  /// Sets the watch on the lock znode. Returns false if it is already set or cannot be set yet.
  bool watch_own();

  // REQUIRES: the lock node is granted.
  /// Makes the hold a shared one: the holder has released all exclusive counts, but not the shared
  /// ones that it took while it held exclusively. From now on the znode leaves no lock delay
  /// behind. A writer's znode is replaced by a reader's znode, so that other readers can be
  /// granted. A mutex's znode stays, and still excludes all other contenders. The owner has a
  /// mutex's znode if it locked a ReentrantMutex on the path before the SharedMutex.
  void downgrade();
  /// Defers `then` until no downgrade is in flight.
  void when_name_settled(std::function<void()> then) {
    holding_->downgrade.when_settled(std::move(then));
  }
  /// Adds `path`, such as a proclamation, to the transaction that deletes the lock znode.
  void delete_with_node(std::string path);
  /// Returns whether a delay marker or a hold marker may be among the children.
  bool may_have_marker() const noexcept {
    return fsm_.delay_markers().has_own() || holding_->marker.may_exist();
  }
  /// Records that Hold::expose_node() was called: the user may check the znode in a transaction of
  /// its own.
  void expose() noexcept { holding_->is_exposed = true; }
  /// Returns the lock node of this client that can be granted directly when this one is released.
  /// Returns null if there is none, or if the successor must wait until this znode is deleted.
  std::shared_ptr<LockNode> session_successor() const;

  // The end of the lock node.
  /// Forgets all contenders, and ends the watches: the client is closing.
  void close();
  /// Why the znode is deleted. The cause decides how. An announced delete is an AnnounceAndDelete:
  /// it notifies the watching contender of the release.
  enum class RemovalCause {
    /// A release. Or a loss by the maximum hold time or a forced release, with three conditions.
    /// The lease is still valid, the delete follows within 1 s, and no delay marker exists. The
    /// delete is announced if a contender probably waits.
    release,
    /// A release that needs no announcement: session_successor() is granted at once.
    unannounced_release,
    /// A release after which the work under the lock may be unfinished. Not announced. The delay
    /// marker stays.
    unfinished_release,
    /// Any other loss. The znode is read first. Not announced. The delay marker stays.
    loss,
    /// No contender holds the lock node, and its lease may have lapsed. The znode is read first.
    /// Not announced.
    lapse_without_holder,
    /// Another client or the session's end has deleted the znode. Only the markers are deleted.
    already_deleted
  };
  /// Deletes the znode in the background, as a part of `work` or of a new piece of work. Ends the
  /// watches and the local queue. The hold marker is deleted too, and so is the delay marker,
  /// except as RemovalCause says.
  void remove(RemovalCause cause, BackgroundWork::Id work = {});
  /// Ends the watches, the timers and the notifications about the session. The znode stays. Used
  /// when the lock node does not wait and is not held any more.
  void end_watches();
  /// Handles a deletion of the lock znode that this client has not requested. A holder loses its
  /// hold. A waiting contender enqueues again or fails.
  void on_own_node_deleted();
  void on_path_recreated();
  /// Handles the release of the predecessor by its holder. Usually grants this lock node before it
  /// returns. REQUIRES: the predecessor is a znode of this client and session.
  void on_predecessor_released();

 private:
  friend class PathLock;
  // Its parts.
  friend class Downgrade;
  friend class LocalQueue;
  friend class NodeWatches;
  using Effect = core::AcquireEffect;

  // Called by the path lock.
  /// Returns whether the local queue retains the granted lock node without a contender in it.
  bool is_idle() const noexcept {
    return local_queue() != nullptr && is_granted() && front_.expired();
  }
  /// Deletes the znode if the lock node is idle.
  void end_idling() {
    if (local_queue() != nullptr) local_queue()->end_idling();
  }
  void assert_invariants() const noexcept {
    if (local_queue_) local_queue_->assert_invariants();
  }
  // LeaseObserver.
  void on_lease_event(LeaseEvent& event) override;
  void on_session_ended(SessionId session);
  void on_lease_expired(const std::shared_ptr<core::Lease>& lease);
  void on_tick(int& requests);

  // Used by its parts.
  PathLock& path_lock() const noexcept { return *path_; }
  SessionId session() const noexcept { return fsm_.node().session(); }
  /// Sets the contender in the lock node; null: none.
  void set_front(const std::shared_ptr<Contender>& contender) noexcept;
  bool is_held() const noexcept { return is_granted() && !front_.expired(); }
  /// Puts each of these contenders into a new lock node, or all of them into one that they share.
  void requeue(LocalQueue::Waiters waiters);
  /// Returns whether `node`, the reply to a Get of its name, describes the lock znode.
  bool is_own(const client::Reply& node) const;
  /// Returns whether the stat `path` shows that the lock path was not recreated since the create of
  /// the lock znode. If so, no other child can have had the name of the lock znode.
  bool is_path_of_own_znode(const client::Reply& path) const;
  /// Returns whether the rule is that of a mutex, without a gate: grants follow the sequence
  /// numbers.
  bool is_mutex() const noexcept { return fsm_.policy().rule.is_mutex() && !fsm_.policy().gate; }
  /// Records that `reply` has shown the lock znode.
  void saw_own_node(const client::Reply& reply) noexcept {
    const LeaseKeeper& keeper = context().keeper();
    if (reply.sent_at >= keeper.up_to_date_since()) seen_on_connection_ = keeper.connection();
  }
  /// Returns whether the lock znode was not seen since the last reconnect. The path may have been
  /// recreated meanwhile, and another znode can have the name.
  bool is_unseen() const noexcept { return seen_on_connection_ != context().keeper().connection(); }
  void on_release_requested(bool force);
  /// Handles the reply to the read of a predecessor.
  void on_predecessor_read(const std::string& node, const client::Reply& reply);
  /// `which`: the index of the predecessor in the machine's list.
  void on_predecessor_event(std::size_t which, client::request::WatchEvent event);
  /// Returns the data of the reader's znode that replaces a writer's znode.
  std::string data_as_reader() const;
  /// Returns the name of the delay marker that is deleted in one transaction with the znode. Empty
  /// if there is none.
  const std::string& unwanted_delay_marker() const noexcept { return delays_->unwanted_marker; }
  /// Returns unwanted_delay_marker() and forgets it. REQUIRES: the marker is deleted, or the caller
  /// deletes it.
  std::string take_unwanted_delay_marker();
  /// Deletes the unwanted delay marker in the background, but not the znode.
  void remove_unwanted_delay_marker(BackgroundWork::Id work = {});

  /// Returns the lock node whose local queue is for contenders with these policies; null if there
  /// is none.
  static std::shared_ptr<LockNode> find_shared(const PathLock& path,
                                               const core::AcquireFsm::Policy& policy,
                                               const core::CohortPolicy& cohort_policy);
  bool agrees(const core::AcquireFsm::Policy& policy,
              const core::CohortPolicy& cohort_policy) const noexcept;
  EngineContext& context() const noexcept { return path_->context(); }
  std::shared_ptr<Contender> front() const noexcept { return front_.lock(); }
  /// Returns the local queue; null before it begins and after it has ended.
  LocalQueue* local_queue() const noexcept {
    return local_queue_ && !local_queue_->has_ended() ? local_queue_.get() : nullptr;
  }
  /// Puts the first contender into this new lock node, which begins to enqueue. If the lock node
  /// begins a local queue, the contenders in `behind` (null: none) move into that queue.
  void start(const std::shared_ptr<Contender>& first, LocalQueue::Waiters* behind);
  void begin_local_queue(LocalQueue::Waiters behind);
  /// Ends the local queue, and returns the contenders behind. REQUIRES: there is a local queue.
  LocalQueue::Waiters end_local_queue();
  /// Removes the contender from the lock node. The lock node counts as background work until the
  /// machine has ended, because a znode may still have to be found and deleted.
  void abandon();
  void notify_unreachable(const std::string& cause);
  bool is_granted() const noexcept { return fsm_.state() == core::AcquireState::granted; }
  /// Returns a reply handler that runs the effects of `step(*this, replies...)` with the engine
  /// mutex held. It keeps this object alive, because this may be the only object that knows the
  /// znode.
  template <class Step>
  auto on_reply(Step step) {
    return [self = shared_from_this(), step](const auto&... replies) {
      const EngineLock lock(self->path_->entry());
      self->run(step(*self, replies...));
    };
  }
  /// Returns a reply handler for a request that returns no data.
  auto on_done() {
    return on_reply([](LockNode& p, const client::Reply& r) {
      // A request that names a session never gets `not_connected`, so retried_status() returns its
      // status unchanged.
      return p.fsm_.on_done({p.retried_status(r), r.detail});
    });
  }
  void run(core::AcquireEffects effects);
  void carry_out(Effect effect);

  // The effects of the machine, described at core::AcquireEffect::Kind, and their requests.
  void create(std::string attempt, core::Instant wanted_since);
  bool enter_create_limiter();
  void drop_unsent();
  void create_parents();
  void check_path(SessionId session);
  void remove_path();
  void create_count(const Effect& effect);
  void inspect(const Effect& effect);
  void remove_node(const Effect& effect);
  void node_made();
  /// `parent`: the stat of the lock path after the create, or a failed reply.
  core::AcquireEffects on_counted(const client::Reply& parent);
  void move(const std::string& attempt);
  /// Sets lease() to the lease of `session`, and returns true, if that lease suffices for a grant
  /// and a contender is in the lock node. Otherwise returns false, without effect.
  bool update_lease(SessionId session);
  bool update_lease() { return update_lease(fsm_.node().session()); }
  core::CreatedAnswer answer_of(const client::Reply& created);
  core::AcquireEffects on_inspected(const client::Reply& reply);
  void check_own(SessionId session);
  /// Returns the status of `reply` for the machine. `throttled` replaces `not_connected`, so that
  /// the machine repeats the request; but not while a single attempt is in the lock node. Only a
  /// request that names no session gets `not_connected`. If a contender waits and no create has
  /// succeeded so far, such a reply also leads to notify_unreachable().
  core::Status retried_status(const client::Reply& reply);
  core::Status status_for_own(const client::Reply& first, const client::Reply& get) const;
  void recreate_path();
  void list(SessionId session);
  core::AcquireEffects on_listed(const client::Reply& queue, const client::Reply& count);
  std::string permit_count_path() const;
  void watch_predecessor(const Effect& effect);
  void pause();
  void mark(const Effect& effect);
  void clear(const Effect& effect);
  /// Returns `write` as a transaction that fails if the lock znode does not exist.
  client::request::Transaction while_queued(client::request::Write write) const;
  void cancel_lock_delay();
  void delay();
  void end_delay() noexcept;
  /// Sends the create of the hold marker, if it is due. Returns whether a request was sent.
  bool mark_hold();
  std::string hold_marker_path() const;
  /// Returns the hold marker if the caller must delete it, and forgets it.
  std::optional<Cleaner::Sibling> take_hold_marker();
  client::RequestId submit(client::Operation operation, SessionId session,
                           client::ReplyHandler handler);
  void grant();
  void fail(Errc error, const std::string& cause);
  void machine_ended();
  void notify_position();
  /// Makes the hold lost, or ends an idle lock node. `why` is `lease_expired`, `session_expired` or
  /// `node_deleted`.
  void lose(LossReason why);
  core::Duration held_for() const { return context().scheduler().now() - holding_->since; }
  bool may_feed_sequence_hint() const noexcept;
  /// Returns whether a contender probably waits for the lock node, which is being released.
  bool may_be_awaited() const;
  Cleaner::Step first_step_for(RemovalCause cause) const;
  std::function<void()> on_removed(RemovalCause cause) const;
  /// Returns the znodes that the caller must delete with its znode, and forgets them.
  std::vector<Cleaner::Sibling> take_siblings();

  struct Delays {
    std::string unwanted_marker;
    client::TimerId timer{};
    core::Instant due{};  ///< end of the present delay
  };
  /// State needed after the grant. Allocated at the grant, to keep waiting lock nodes small.
  struct Holding {
    explicit Holding(LockNode& lock_node) : downgrade(lock_node) {}

    Downgrade downgrade;
    core::Instant since{};
    bool needs_lease = true;            ///< until end_watches(); see LeaseKeeper::hold_began()
    std::vector<std::string> siblings;  ///< paths of znodes, see delete_with_node()
    bool is_exposed = false;            ///< by any of its holds
    core::HoldMarkerState marker = {};
  };
  bool has_downgraded() const noexcept { return holding_ && holding_->downgrade.is_reader(); }
  bool is_name_unknown() const noexcept {
    return holding_ && holding_->downgrade.is_name_unknown();
  }
  bool is_name_settled() const noexcept { return !holding_ || holding_->downgrade.is_settled(); }

  const std::shared_ptr<PathLock> path_;
  const Caller caller_;
  const core::CohortPolicy cohort_policy_;

  std::weak_ptr<Contender> front_;           ///< the contender in it
  std::unique_ptr<LocalQueue> local_queue_;  ///< null before begin_local_queue()
  core::AcquireFsm fsm_;
  /// From abandon() until the machine has ended.
  BackgroundWork::Id work_{};
  /// The CreateLimiter has permitted the create, and its slot is not returned yet.
  bool let_through_ = false;
  /// A create has succeeded.
  bool had_node_ = false;
  std::uint64_t seen_on_connection_ = 0;  ///< see is_unseen()
  bool has_ended_ = false;                ///< by end_watches()
  /// The last create or move, or the last request that creates or deletes the path.
  client::RequestId create_id_{};
  client::RequestId permit_count_id_{};
  client::RequestId list_id_{};
  core::Lazy<Delays> delays_;
  NodeWatches watches_{*this};
  std::unique_ptr<Holding> holding_;  ///< null before the grant
  /// The ctime of the znode of the last create, in ms. A move retains the former value.
  std::int64_t created_ms_ = 0;
  /// When the last create was sent, by this client's clock; created_ms_ is by the leader's.
  core::Instant create_sent_at_{};
  /// The time from which the current request that names no session waits for a connection. For a
  /// create, and for a list that is sent with it, that is the time of the effect `create`. For
  /// later requests it is the time at which the create was submitted.
  core::Instant wanted_since_{};
  std::shared_ptr<core::Lease> lease_;  ///< the lease of the grant
};

}  // namespace zklock::detail
