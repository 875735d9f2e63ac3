// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/lazy.h"
#include "zklock/core/lease.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/downgrade.h"
#include "zklock/engine/held_node_path.h"
#include "zklock/engine/lock_node_observer.h"
#include "zklock/engine/lock_node_parts.h"
#include "zklock/engine/node_watches.h"
#include "zklock/engine/path_queue.h"
#include "zklock/engine/session/background_work.h"
#include "zklock/engine/session/lease_keeper.h"

namespace zklock::detail {

/// A lock node in the queue of one lock path: one lock znode, from its create to its delete. The
/// lock node carries out the effects of the acquire machine (core::AcquireFsm) by requests to the
/// coordinator. It reports grant, failure and loss to its observer.
///
/// | state  | observer      | znode             | ends with                                     |
/// |--------|---------------|-------------------|-----------------------------------------------|
/// | queued | a contender   | may exist         | grant; error; withdraw()                      |
/// |        | waits         |                   |                                               |
/// | left   | none          | may exist         | the machine has proved that no znode is left  |
/// | held   | a contender   | exists; another   | release; loss; hand-off or retained idle (see |
/// |        | holds, or the | one after a       | cohort.h)                                     |
/// |        | node is idle  | downgrade         |                                               |
/// | over   | any           | is being deleted  |                                               |
///
/// Thread-safety: any thread may call the members of LeaseObserver, without a Lock. REQUIRES for
/// the other members: a Lock of the path's monitor.
class LockNode final : public LeaseObserver,
                       public CreateLimiter::Waiter,
                       private LockNodeParts,
                       public std::enable_shared_from_this<LockNode> {
 public:
  /// `requester`: named by the znode.
  LockNode(std::shared_ptr<PathQueue> path, Requester requester, core::AcquireFsm::Policy policy);
  ~LockNode() override;

  /// From now on, `observer` receives the events. Without an observer, the lock node is not
  /// granted.
  void set_observer(std::weak_ptr<LockNodeObserver> observer) noexcept {
    observer_ = std::move(observer);
  }
  /// Begins to enqueue.
  void start();
  /// Withdraws: the observer is not notified any more, and the machine deletes the znode.
  void withdraw();
  /// Removes the observer. Background work is under way until the machine has ended. REQUIRES: the
  /// machine has failed or was given up.
  void leave();
  /// From now on the delete of the znode leaves no lock delay behind, as after a release.
  void cancel_lock_delay();
  /// Records that the holder has released its exclusive counts and keeps shared ones. From now on
  /// the znode leaves no lock delay behind. A writer's znode is replaced by a reader's znode, so
  /// that other readers can be granted; `held_node` is the path that the hold shows. The znode of a
  /// mutex stays and excludes every other contender.
  void downgrade(std::shared_ptr<HeldNodePath> held_node);
  /// The znode at `path` will be deleted with the own znode, in one transaction. The holder writes
  /// to it (see core/proclamation.h). REQUIRES: the lock node is held.
  void delete_with_node(std::string path);
  /// Records that the hold has ended and that the znode will be deleted.
  void end_hold();
  /// Ends the watches, the timers and the notifications about the session. The znode stays. Used
  /// when the lock node does not wait and is not held any more.
  void end_watches();
  /// How the znode is deleted.
  enum class Manner {
    /// After a release. It is announced, if a successor can be waiting.
    release,
    /// After a release, not announced.
    unannounced,
    /// After a loss, or when the work under the lock may be unfinished. Not announced.
    unfinished,
    /// As `unfinished`, but reads the znode first.
    with_care
  };
  /// Deletes the znode in the background, as a part of `work` or of a new piece of work.
  void remove(Manner manner, BackgroundWork::Id work = {});
  /// Deletes the unwanted delay marker in the background, but not the znode.
  void remove_unwanted_delay_marker(BackgroundWork::Id work = {}) override;

  PathQueue& path_context() const noexcept { return *path_; }
  const core::AcquireFsm::Policy& policy() const noexcept { return fsm_.policy(); }
  /// Returns the queue rule. If the permit count is shared, the rule has the count that was read
  /// last.
  const core::QueueRule& rule() const noexcept { return fsm_.rule(); }
  /// Returns a number that is higher for each newer lock node of the client.
  std::uint64_t number() const noexcept override { return fsm_.number(); }
  bool at_gate() const noexcept { return fsm_.at_gate(); }
  bool over() const noexcept { return fsm_.over(); }
  /// Returns whether the lock node has had to wait for a predecessor.
  bool waited() const noexcept { return fsm_.waited(); }
  bool leaves_delay() const noexcept { return fsm_.leaves_delay(); }
  /// Returns whether another contender can be waiting for the lock node, which is being released.
  bool may_be_awaited() const;
  FencingToken token() const noexcept { return fsm_.token(); }
  SessionId session() const noexcept override { return fsm_.session(); }
  const std::shared_ptr<core::Lease>& lease() const noexcept { return lease_; }
  const std::string& own_name() const noexcept override {
    return reads_on() ? holding_->downgrade.name() : fsm_.own_name();
  }
  /// Returns the names that the znode can have now: two while the outcome of a downgrade is
  /// unknown, else one.
  std::vector<std::string> own_names() const;

  /// Sets the watch on the own znode. Returns false if it is already set or cannot be set yet.
  bool watch_own();
  /// Returns whether the lease of the lock node's session is valid. If so, sets lease() for a
  /// grant. Returns false without an observer.
  bool lease_valid() { return lease_valid(fsm_.session()); }
  void on_own_node_deleted() override;
  void on_path_recreated();
  /// Records that the user has read the znode's name, and so can check the znode in a transaction.
  void becomes_known_by_name() noexcept { holding_->known_by_name = true; }
  /// Returns the lock node of this client that can be granted directly when this one is released.
  /// Null if there is none, or if the successor has to wait for the watch event.
  std::shared_ptr<LockNode> local_successor() const;
  /// Records that the holder of the predecessor has released. REQUIRES: the predecessor is a znode
  /// of this client and session.
  void on_predecessor_released();

  // LeaseObserver; called without a Lock.
  std::shared_ptr<LeaseObserver> alive() noexcept override { return weak_from_this().lock(); }
  void session_ended(SessionId session) override;
  void on_lease_expired(const std::shared_ptr<core::Lease>& lease) override;
  void suspended(SessionId session) override;
  void resumed(SessionId session) override;
  void tick(int& requests) override;

 private:
  using Effect = core::AcquireEffect;
  using SiblingNode = NodeDeleter::SiblingNode;

  // LockNodeParts and CreateLimiter::Waiter.
  std::weak_ptr<LockNode> weak_self() noexcept override { return weak_from_this(); }
  PathQueue& path_queue() const noexcept override { return *path_; }
  core::Sequence sequence() const noexcept override { return fsm_.sequence(); }
  bool is_own(const client::Reply& node) const override;
  bool is_mutex() const noexcept override { return policy().rule.is_mutex() && !policy().gate; }
  void on_release_requested(bool force) override;
  void on_predecessor_read(const std::string& node, const client::Reply& reply) override;
  void on_predecessor_event(std::size_t which, client::request::WatchEvent event) override;
  std::string attempt() const override { return fsm_.attempt(); }
  std::string data_as_reader() const override;
  const std::string& unwanted_delay_marker() const noexcept override {
    return delays_->unwanted_marker;
  }
  std::string take_unwanted_delay_marker() override;
  void disarm_own_watch() noexcept override { watches_.disarm_own(); }
  void let_through() override;

  EngineContext& core() const noexcept { return path_->core(); }
  std::shared_ptr<LockNodeObserver> observer() const noexcept { return observer_.lock(); }
  bool is_granted() const noexcept { return fsm_.state() == core::AcquireState::granted; }
  template <class Step>
  auto entering(Step step) {
    return detail::entering(weak_from_this(), std::move(step));
  }
  template <class Step>
  auto on_reply(Step step);
  void run(core::AcquireEffects effects);
  void carry_out(const Effect& effect);
  void create();
  void ask_for_node();
  void node_made();
  void count();
  void move(const std::string& attempt);
  bool lease_valid(SessionId session);
  core::CreatedAnswer answer_of(const client::Reply& created);
  core::AcquireEffects inspected(const client::Reply& reply);
  void check_own(SessionId session);
  /// Returns the status for the machine of a reply to a request that is bound to no session.
  core::Status status_unbound(const client::Reply& reply);
  core::Status status_for_own(const client::Reply& first, const client::Reply& get) const;
  void make_path_anew();
  void list(SessionId session);
  core::AcquireEffects listed(const client::Reply& queue, const client::Reply& count);
  std::string count_path() const;
  void watch_predecessor(const Effect& effect);
  void pause();
  void mark(const Effect& effect);
  void clear(const Effect& effect);
  void delay();
  void end_delay() noexcept;
  client::RequestId submit(client::Operation operation, SessionId session,
                           client::ReplyHandler handler);
  void grant();
  void fail(Errc error, const std::string& cause);
  void machine_ended();
  void notify_position();
  void notify_loss(LossCause cause);
  core::Duration held_for() const { return core().scheduler().now() - holding_->since; }
  bool goes_by_number() const noexcept;
  NodeDeleter::Manner deletion(Manner manner) const;
  void remove_node(SessionId session, const std::string& name, std::vector<SiblingNode> siblings,
                   NodeDeleter::Manner manner, BackgroundWork::Id work,
                   std::function<void()> gone = {});
  /// Returns the znodes that the caller must delete with its znode, and forgets them.
  std::vector<SiblingNode> take_siblings();

  struct Delays {
    std::string unwanted_marker;
    client::TimerId timer{};
    std::uint64_t rounds = 0;
  };
  /// State needed after the grant. Allocated at the grant, to keep waiting lock nodes small.
  struct Holding {
    explicit Holding(LockNodeParts& lock_node) : downgrade(lock_node) {}

    Downgrade downgrade;
    core::Instant since{};
    std::vector<std::string> siblings;  ///< paths of znodes, see delete_with_node()
    bool known_by_name = false;         ///< by the user of any of its holds
  };
  bool reads_on() const noexcept { return holding_ && holding_->downgrade.reads(); }
  bool name_in_doubt() const noexcept { return holding_ && holding_->downgrade.in_doubt(); }
  bool name_settled() const noexcept { return !holding_ || holding_->downgrade.settled(); }

  const std::shared_ptr<PathQueue> path_;
  const Requester requester_;

  // guarded by the monitor
  std::weak_ptr<LockNodeObserver> observer_;
  core::AcquireFsm fsm_;
  BackgroundWork::Id work_{};      ///< from leave() until the machine has ended
  bool let_through_ = false;       ///< let through by the CreateLimiter, not passed yet
  bool had_node_ = false;          ///< a znode was created: a server was reached
  bool hold_has_ended_ = false;    ///< or ended without a hold
  client::RequestId create_id_{};  ///< create, or another request bound to no session
  client::RequestId count_id_{};
  client::RequestId list_id_{};
  core::Lazy<Delays> delays_;
  NodeWatches watches_{*this};
  std::unique_ptr<Holding> holding_;    ///< null before the grant
  std::int64_t queued_ms_ = 0;          ///< ctime of its first znode, in ms
  core::Instant wanted_since_{};        ///< when the znode was requested first
  std::shared_ptr<core::Lease> lease_;  ///< the lease of the grant
};

}  // namespace zklock::detail
