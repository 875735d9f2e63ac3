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
#include "zklock/core/hold_marker.h"
#include "zklock/core/lazy.h"
#include "zklock/core/lease.h"
#include "zklock/engine/downgrade.h"
#include "zklock/engine/epoch.h"
#include "zklock/engine/held_node_path.h"
#include "zklock/engine/lock_node_internals.h"
#include "zklock/engine/lock_node_observer.h"
#include "zklock/engine/node_watches.h"
#include "zklock/engine/path_queue.h"
#include "zklock/engine/session/background_work.h"
#include "zklock/engine/session/lease_keeper.h"

namespace zklock::detail {

/// The lock znode of one contender, or of one cohort, from its create to its delete. A downgrade
/// and the move from a gate to the queue replace the znode by another one. The lock node carries
/// out the effects of the acquire machine (core::AcquireFsm) by requests to the coordinator. It
/// reports grant, failure and loss to its observer: the contender, or the cohort that shares the
/// lock node.
///
/// | state     | observer | znode                 | ends with                                    |
/// |-----------|----------|-----------------------|----------------------------------------------|
/// | queued    | present  | may exist             | grant; error; withdraw(); a single attempt   |
/// |           |          |                       | that is not first                            |
/// | abandoned | none     | may exist             | the machine has proved that no znode is left |
/// | held      | present  | exists                | release; loss                                |
/// | ended     | any      | none, or soon deleted |                                              |
///
/// A shared lock node stays held at a hand-off, and while its cohort retains it idle.
///
/// Thread-safety: none. REQUIRES: path_mutex is held. The destructor requires it only if the lock
/// node is linked in the list of its path lock.
class LockNode final : private CreateLimiter::Waiter,
                       private LockNodeInternals,
                       public std::enable_shared_from_this<LockNode> {
 public:
  /// `caller`: the contender that the znode's data name.
  LockNode(std::shared_ptr<PathQueue> path, Caller caller, core::AcquireFsm::Policy policy);
  ~LockNode();

  /// From now on, `observer` receives the events. Without an observer, the lock node is not
  /// granted.
  void set_observer(std::weak_ptr<LockNodeObserver> observer) noexcept ZKLOCK_REQUIRES(path_mutex) {
    observer_ = std::move(observer);
  }
  /// Begins to enqueue.
  void start() ZKLOCK_REQUIRES(path_mutex);
  /// Withdraws: the machine deletes the znode. Detaches the observer, which is notified of nothing
  /// from now on, not even of the end.
  void withdraw() ZKLOCK_REQUIRES(path_mutex);
  /// Detaches the observer after a failure, so that on_ended() does not follow. The machine may still
  /// have to delete its znode. Until it has ended, the lock node counts as background work.
  /// REQUIRES: the machine has failed or was withdrawn.
  void detach_observer() ZKLOCK_REQUIRES(path_mutex);

  /// Returns the caller for whom the znode was created. Constant.
  const Caller& caller() const noexcept { return caller_; }
  /// Returns the acquire machine: the policy, the token, the session and the acquire state.
  const core::AcquireFsm& machine() const noexcept ZKLOCK_REQUIRES(path_mutex) { return fsm_; }
  const std::string& own_name() const noexcept override ZKLOCK_REQUIRES(path_mutex) {
    return has_downgraded() ? holding_->downgrade.name() : fsm_.node().name();
  }
  using Names = boost::container::small_vector<std::string, 1>;
  /// Returns the names that the znode can have now: two while the outcome of a downgrade is
  /// unknown, else one.
  Names own_names() const ZKLOCK_REQUIRES(path_mutex);
  /// If a grant is possible, sets lease() to the lease of the lock node's session, and returns true.
  /// The lease must suffice for a grant, and there must be an observer.
  bool update_lease() ZKLOCK_REQUIRES(path_mutex) { return update_lease(fsm_.node().session()); }
  const std::shared_ptr<core::Lease>& lease() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return lease_;
  }

  // REQUIRES: the lock node is granted.
  /// Sets the watch on the own znode. Returns false if it is already set or cannot be set yet.
  bool watch_own() ZKLOCK_REQUIRES(path_mutex);
  /// Records that the holder has released all exclusive counts but not the shared ones, which it
  /// took while it held for writing. From now on the znode leaves no lock delay behind. A writer's
  /// znode is replaced by a reader's znode, so that other readers can be granted; `held_node` is
  /// the path that the hold shows. The owner may have locked a SharedMutex while it held a
  /// ReentrantMutex on the path. Then the znode is that of a mutex. It stays, and still excludes
  /// every other contender.
  void downgrade(std::shared_ptr<HeldNodePath> held_node) ZKLOCK_REQUIRES(path_mutex);
  /// The znode at `path` will be deleted with the own znode, in one transaction. The holder writes
  /// to it (see core/proclamation.h).
  void delete_with_node(std::string path) ZKLOCK_REQUIRES(path_mutex);
  /// Returns whether a delay marker or a hold marker may be among the children.
  bool may_have_marker() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return fsm_.delay_markers().has_own() || holding_->marker.may_exist();
  }
  /// Records that Hold::expose_node() was called: the user may check the znode in a transaction of
  /// its own.
  void expose() noexcept ZKLOCK_REQUIRES(path_mutex) { holding_->is_exposed = true; }
  /// Returns the lock node of this client that can be granted directly when this one is released.
  /// Null if there is none, or if the successor has to wait for the watch event.
  std::shared_ptr<LockNode> session_successor() const ZKLOCK_REQUIRES(path_mutex);

  // Events of the session; see LeaseObserver.
  void on_session_ended(SessionId session) ZKLOCK_REQUIRES(path_mutex);
  void on_lease_expired(const std::shared_ptr<core::Lease>& lease) ZKLOCK_REQUIRES(path_mutex);
  void on_suspended(SessionId session) ZKLOCK_REQUIRES(path_mutex);
  void on_resumed(SessionId session) ZKLOCK_REQUIRES(path_mutex);
  void on_tick(int& requests) ZKLOCK_REQUIRES(path_mutex);

  // The end of the lock node.
  /// Why the znode is deleted. The cause decides how.
  enum class RemovalCause {
    /// A release, or a loss with a valid lease and no delay marker. The delete is announced if a
    /// contender may be waiting.
    release,
    /// A release that needs no announcement.
    unannounced_release,
    /// A release after which the work under the lock may be unfinished. Not announced. The delay
    /// marker stays.
    unfinished_release,
    /// Any other loss. The znode is read first. Not announced. The delay marker stays.
    loss,
    /// No contender holds the lock node, and its lease may have lapsed. The znode is read first.
    /// Not announced.
    idle_lapse,
    /// The znode is deleted, by another client or with its session. Only the markers are deleted.
    already_deleted
  };
  /// Deletes the znode in the background, as a part of `work` or of a new piece of work, and ends
  /// the watches. The hold marker is deleted too, and so is the delay marker, except as
  /// RemovalCause says.
  void remove(RemovalCause cause, BackgroundWork::Id work = {}) ZKLOCK_REQUIRES(path_mutex);
  /// Ends the watches, the timers and the notifications about the session. The znode stays. Used
  /// when the lock node does not wait and is not held any more.
  void end_watches() ZKLOCK_REQUIRES(path_mutex);
  void on_own_node_deleted() override ZKLOCK_REQUIRES(path_mutex);
  void on_path_recreated() ZKLOCK_REQUIRES(path_mutex);
  /// Records that the holder of the predecessor has released. REQUIRES: the predecessor is a znode
  /// of this client and session.
  void on_predecessor_released() ZKLOCK_REQUIRES(path_mutex);

 private:
  friend class PathLock;  // uses list_hook_
  using Effect = core::AcquireEffect;
  using SiblingNode = NodeDeleter::SiblingNode;

  // LockNodeInternals and CreateLimiter::Waiter.
  std::weak_ptr<LockNode> weak_self() noexcept override { return weak_from_this(); }
  PathQueue& path_queue() const noexcept override { return *path_; }
  std::uint64_t number() const noexcept override ZKLOCK_REQUIRES(path_mutex) {
    return fsm_.attempt().number();
  }
  SessionId session() const noexcept override ZKLOCK_REQUIRES(path_mutex) {
    return fsm_.node().session();
  }
  core::Sequence sequence() const noexcept override ZKLOCK_REQUIRES(path_mutex) {
    return fsm_.node().sequence();
  }
  bool is_own(const client::Reply& node) const override ZKLOCK_REQUIRES(path_mutex);
  bool is_path_of_own_znode(const client::Reply& path) const override ZKLOCK_REQUIRES(path_mutex);
  bool is_mutex() const noexcept override ZKLOCK_REQUIRES(path_mutex) {
    return fsm_.policy().rule.is_mutex() && !fsm_.policy().gate;
  }
  void on_release_requested(bool force) override ZKLOCK_REQUIRES(path_mutex);
  void on_predecessor_read(const std::string& node, const client::Reply& reply) override
      ZKLOCK_REQUIRES(path_mutex);
  void on_predecessor_event(std::size_t which, client::request::WatchEvent event) override
      ZKLOCK_REQUIRES(path_mutex);
  std::string attempt() const override ZKLOCK_REQUIRES(path_mutex) { return fsm_.attempt().text(); }
  std::string data_as_reader() const override ZKLOCK_REQUIRES(path_mutex);
  const std::string& unwanted_delay_marker() const noexcept override ZKLOCK_REQUIRES(path_mutex) {
    return delays_->unwanted_marker;
  }
  std::string take_unwanted_delay_marker() override ZKLOCK_REQUIRES(path_mutex);
  void remove_unwanted_delay_marker(BackgroundWork::Id work = {}) override
      ZKLOCK_REQUIRES(path_mutex);
  void disarm_own_watch() noexcept override ZKLOCK_REQUIRES(path_mutex) { watches_.disarm_own(); }
  void let_through() override ZKLOCK_REQUIRES(path_mutex);

  EngineContext& core() const noexcept { return path_->core(); }
  std::shared_ptr<LockNodeObserver> observer() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return observer_.lock();
  }
  bool is_granted() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return fsm_.state() == core::AcquireState::granted;
  }
  /// Returns a callback that calls `step(arguments...)` with path_mutex held, while this exists.
  template <class Step>
  auto under_lock(Step step) {
    return detail::under_lock(weak_from_this(), *path_, std::move(step));
  }
  /// Returns a reply handler that runs the effects of `step(*this, replies...)` with path_mutex
  /// held. It keeps this object alive, because this may be the only object that knows the znode.
  template <class Step>
  auto on_reply(Step step) {
    return [self = shared_from_this(), step](const auto&... replies) {
      const EngineLock lock(self->path_->entry());
      self->run(step(*self, replies...));
    };
  }
  /// Returns a reply handler for a request that returns no data.
  auto on_done() {
    return on_reply([](LockNode& p, const client::Reply& r) ZKLOCK_REQUIRES(path_mutex) {
      // A request on a session never gets `not_connected`, so status_without_session() leaves its
      // status unchanged.
      return p.fsm_.on_done({p.status_without_session(r), r.detail});
    });
  }
  void run(core::AcquireEffects effects) ZKLOCK_REQUIRES(path_mutex);
  void carry_out(Effect effect) ZKLOCK_REQUIRES(path_mutex);

  // The effects of the machine, described at core::AcquireEffect::Kind, and their requests.
  void create(std::string attempt, core::Instant wanted_since) ZKLOCK_REQUIRES(path_mutex);
  void drop_unsent() ZKLOCK_REQUIRES(path_mutex);
  void create_parents() ZKLOCK_REQUIRES(path_mutex);
  void check_parent(SessionId session) ZKLOCK_REQUIRES(path_mutex);
  void remove_parent() ZKLOCK_REQUIRES(path_mutex);
  void create_count(const Effect& effect) ZKLOCK_REQUIRES(path_mutex);
  void inspect(const Effect& effect) ZKLOCK_REQUIRES(path_mutex);
  void remove_node(const Effect& effect) ZKLOCK_REQUIRES(path_mutex);
  void node_made() ZKLOCK_REQUIRES(path_mutex);
  /// `parent`: the stat of the lock path after the create, or why there is none.
  core::AcquireEffects counted(const client::Reply& parent) ZKLOCK_REQUIRES(path_mutex);
  void move(const std::string& attempt) ZKLOCK_REQUIRES(path_mutex);
  bool update_lease(SessionId session) ZKLOCK_REQUIRES(path_mutex);
  core::CreatedAnswer answer_of(const client::Reply& created) ZKLOCK_REQUIRES(path_mutex);
  core::AcquireEffects inspected(const client::Reply& reply) ZKLOCK_REQUIRES(path_mutex);
  void check_own(SessionId session) ZKLOCK_REQUIRES(path_mutex);
  /// Returns the status of `reply` for the machine. Unless the acquire is a single attempt,
  /// `throttled` replaces `not_connected`, so that the machine repeats the request. Only a request
  /// without a session gets `not_connected`. If no server was reached so far, such a reply also
  /// leads to LockNodeObserver::on_unreachable().
  core::Status status_without_session(const client::Reply& reply) ZKLOCK_REQUIRES(path_mutex);
  core::Status status_for_own(const client::Reply& first, const client::Reply& get) const
      ZKLOCK_REQUIRES(path_mutex);
  void recreate_path() ZKLOCK_REQUIRES(path_mutex);
  void list(SessionId session) ZKLOCK_REQUIRES(path_mutex);
  core::AcquireEffects listed(const client::Reply& queue, const client::Reply& count)
      ZKLOCK_REQUIRES(path_mutex);
  std::string count_path() const ZKLOCK_REQUIRES(path_mutex);
  void watch_predecessor(const Effect& effect) ZKLOCK_REQUIRES(path_mutex);
  void pause() ZKLOCK_REQUIRES(path_mutex);
  void mark(const Effect& effect) ZKLOCK_REQUIRES(path_mutex);
  void clear(const Effect& effect) ZKLOCK_REQUIRES(path_mutex);
  /// Returns `write` as a transaction that fails if the own znode does not exist.
  client::request::Transaction while_queued(client::request::Write write) const
      ZKLOCK_REQUIRES(path_mutex);
  void cancel_lock_delay() ZKLOCK_REQUIRES(path_mutex);
  void delay() ZKLOCK_REQUIRES(path_mutex);
  void end_delay() noexcept ZKLOCK_REQUIRES(path_mutex);
  /// Sends the create of the hold marker, if it is due. Returns whether a request was sent.
  bool mark_hold() ZKLOCK_REQUIRES(path_mutex);
  std::string hold_marker_path() const ZKLOCK_REQUIRES(path_mutex);
  /// Returns the hold marker if the caller must delete it, and forgets it.
  std::optional<SiblingNode> take_hold_marker() ZKLOCK_REQUIRES(path_mutex);
  client::RequestId submit(client::Operation operation, SessionId session,
                           client::ReplyHandler handler) ZKLOCK_REQUIRES(path_mutex);
  void grant() ZKLOCK_REQUIRES(path_mutex);
  void fail(Errc error, const std::string& cause) ZKLOCK_REQUIRES(path_mutex);
  void machine_ended() ZKLOCK_REQUIRES(path_mutex);
  void notify_position() ZKLOCK_REQUIRES(path_mutex);
  void notify_loss(LossReason why) ZKLOCK_REQUIRES(path_mutex);
  core::Duration held_for() const ZKLOCK_REQUIRES(path_mutex) {
    return core().scheduler().now() - holding_->since;
  }
  bool goes_by_number() const noexcept ZKLOCK_REQUIRES(path_mutex);
  void saw_own_node(const client::Reply& reply) noexcept override ZKLOCK_REQUIRES(path_mutex) {
    const LeaseKeeper& keeper = core().keeper();
    if (reply.sent_at >= keeper.up_to_date_since()) seen_on_connection_ = keeper.connection();
  }
  bool is_unseen() const noexcept override ZKLOCK_REQUIRES(path_mutex) {
    return seen_on_connection_ != core().keeper().connection();
  }
  /// Returns false if probably no other contender waits for the lock node, which is being released.
  bool may_be_awaited() const ZKLOCK_REQUIRES(path_mutex);
  NodeDeleter::FirstStep first_step_for(RemovalCause cause) const ZKLOCK_REQUIRES(path_mutex);
  std::function<void()> on_removed(RemovalCause cause) const ZKLOCK_REQUIRES(path_mutex);
  /// Returns the znodes that the caller must delete with its znode, and forgets them.
  std::vector<SiblingNode> take_siblings() ZKLOCK_REQUIRES(path_mutex);

  struct Delays {
    std::string unwanted_marker;
    client::TimerId timer{};
    Epoch epoch;  ///< of the timer
  };
  /// State needed after the grant. Allocated at the grant, to keep waiting lock nodes small.
  struct Holding {
    explicit Holding(LockNodeInternals& lock_node) : downgrade(lock_node) {}

    Downgrade downgrade;
    core::Instant since{};
    std::optional<LeaseKeeper::HeartbeatDemand> heartbeat_demand;  ///< until the hold ends
    std::vector<std::string> siblings;  ///< paths of znodes, see delete_with_node()
    bool is_exposed = false;            ///< by any of its holds
    core::HoldMarkerState marker = {};
  };
  bool has_downgraded() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return holding_ && holding_->downgrade.is_reader();
  }
  bool is_name_unknown() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return holding_ && holding_->downgrade.is_name_unknown();
  }
  bool is_name_settled() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return !holding_ || holding_->downgrade.is_settled();
  }

  const std::shared_ptr<PathQueue> path_;
  const Caller caller_;

  boost::intrusive::list_member_hook<> list_hook_ ZKLOCK_GUARDED_BY(path_mutex);
  std::weak_ptr<LockNodeObserver> observer_ ZKLOCK_GUARDED_BY(path_mutex);
  core::AcquireFsm fsm_ ZKLOCK_GUARDED_BY(path_mutex);
  /// From detach_observer() until the machine has ended.
  BackgroundWork::Id work_ ZKLOCK_GUARDED_BY(path_mutex){};
  /// The CreateLimiter has permitted the create, and its slot is not returned yet.
  bool let_through_ ZKLOCK_GUARDED_BY(path_mutex) = false;
  /// A znode was created: a server was reached.
  bool had_node_ ZKLOCK_GUARDED_BY(path_mutex) = false;
  std::uint64_t seen_on_connection_ ZKLOCK_GUARDED_BY(path_mutex) = 0;  ///< see is_unseen()
  bool has_ended_ ZKLOCK_GUARDED_BY(path_mutex) = false;                ///< by end_watches()
  /// The create, or another request that is not bound to a session.
  client::RequestId create_id_ ZKLOCK_GUARDED_BY(path_mutex){};
  client::RequestId count_id_ ZKLOCK_GUARDED_BY(path_mutex){};
  client::RequestId list_id_ ZKLOCK_GUARDED_BY(path_mutex){};
  core::Lazy<Delays> delays_ ZKLOCK_GUARDED_BY(path_mutex);
  NodeWatches watches_ ZKLOCK_GUARDED_BY(path_mutex){*this};
  std::unique_ptr<Holding> holding_ ZKLOCK_GUARDED_BY(path_mutex);  ///< null before the grant
  std::int64_t queued_ms_ ZKLOCK_GUARDED_BY(path_mutex) = 0;  ///< ctime of its first znode, in ms
  /// When the create of its first znode was sent: by this client's clock, what queued_ms_ is by the
  /// leader's.
  core::Instant made_at_ ZKLOCK_GUARDED_BY(path_mutex){};
  /// When the wait for a connection began, for the current request that is not bound to a session.
  /// For a create: the time of the effect `create`. For the requests after it: the time at which
  /// the create was submitted.
  core::Instant wanted_since_ ZKLOCK_GUARDED_BY(path_mutex){};
  std::shared_ptr<core::Lease> lease_ ZKLOCK_GUARDED_BY(path_mutex);  ///< the lease of the grant
};

}  // namespace zklock::detail
