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
#include "zklock/engine/arrival_watch.h"
#include "zklock/engine/downgrade.h"
#include "zklock/engine/own_node_watch.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/predecessor_watches.h"
#include "zklock/engine/release_request_watch.h"
#include "zklock/engine/session/background_work.h"
#include "zklock/engine/session/lease_keeper.h"

namespace zklock::detail {

class Contender;
class Cohort;

/// A lock node in the queue of one lock path: one lock znode, from its create to its delete. The
/// lock node carries out the effects of the acquire machine (core::AcquireFsm) by requests to the
/// coordinator. It reports grant, failure and loss to the contender in the lock node.
///
/// | state  | contender in it | znode           | ends with                                     |
/// |--------|-----------------|-----------------|-----------------------------------------------|
/// | queued | waits           | may exist       | grant; error; the contender withdraws         |
/// | left   | none            | may exist       | the machine has proved that no znode is left  |
/// | held   | holds           | exists; another | release; loss; hand-off or retained idle (see |
/// |        |                 | one after a     | cohort.h)                                     |
/// |        |                 | downgrade       |                                               |
/// | idle   | none            | exists          | held again; release; loss                     |
/// | over   | has lost it, or | being deleted   |                                               |
/// |        | none            |                 |                                               |
///
/// Thread-safety: any thread may call the members of LeaseObserver, without a Section. REQUIRES for
/// the other members: within a Section of the path lock.
class LockNode final : public LeaseObserver, public std::enable_shared_from_this<LockNode> {
 public:
  /// `requester`: named by the znode. `local`: the cohort of the contenders that can share the
  /// lock node; null if the lock node is for a single contender.
  LockNode(std::shared_ptr<PathLock> path_lock, Requester requester,
           core::AcquireFsm::Policy policy, std::shared_ptr<Cohort> local = nullptr);
  ~LockNode() override;

  /// Puts `contender` in the lock node. From now on, the contender is notified.
  void enter(const std::shared_ptr<Contender>& contender) { contender_ = contender; }
  /// Takes the contender out of the lock node, which stays.
  void vacate() noexcept { contender_.reset(); }
  /// Begins to enqueue.
  void start();
  /// Withdraws: the contender is not notified any more, and the machine deletes the znode.
  void withdraw();
  /// Takes the contender out of the lock node. Background work is under way until the machine has
  /// ended. REQUIRES: the machine has failed or was given up.
  void leave();
  /// From now on the delete of the znode leaves no lock delay behind, as after a release.
  void cancel_lock_delay();
  /// Records that the holder has released its exclusive counts and keeps shared ones. From now on
  /// the znode leaves no lock delay behind. A writer's znode is replaced by a reader's znode, so
  /// that other readers can be granted. The znode of a mutex stays and excludes every other
  /// contender.
  void downgrade();
  /// The znode at `path` will be deleted with the own znode, in one transaction. The holder writes
  /// to it (see core/proclamation.h). REQUIRES: the lock node is held.
  void delete_with_node(std::string path);
  /// Ends the watches, the timers and the notifications about the session. The znode stays. Used
  /// when the lock node does not wait and is not held any more.
  void end_watches() noexcept;
  /// How the znode is deleted.
  enum class Manner {
    release,           ///< announced, if a successor can be waiting
    to_own_successor,  ///< plainly; a local contender is granted directly
    plainly,           ///< not announced
    with_care          ///< plainly, but reads the znode first
  };
  /// Deletes the znode in the background, as a part of `work` or of a new piece of work.
  void remove(Manner manner, BackgroundWork::Id work = {});

  EngineContext& core() const noexcept { return path_lock_->core(); }
  PathLock& path_lock() const noexcept { return *path_lock_; }
  const core::AcquireFsm::Policy& policy() const noexcept { return fsm_.policy(); }
  /// Returns the queue rule. If the permit count is shared, the rule has the count that was read
  /// last.
  const core::QueueRule& rule() const noexcept { return fsm_.rule(); }
  /// Returns a number that is higher for each newer lock node of the client.
  std::uint64_t number() const noexcept { return fsm_.number(); }
  bool at_gate() const noexcept { return fsm_.at_gate(); }
  bool over() const noexcept { return fsm_.has_ended(); }
  /// Returns whether the lock node has had to wait for a predecessor.
  bool waited() const noexcept { return fsm_.waited(); }
  bool leaves_delay() const noexcept { return fsm_.leaves_delay(); }
  core::Duration held_for() const { return core().scheduler().now() - holding_->since; }
  /// Returns whether another contender can be waiting for the lock node, which is being released.
  /// The first call decides; later calls return the same result.
  bool may_be_awaited();
  FencingToken token() const noexcept { return fsm_.token(); }
  SessionId session() const noexcept { return fsm_.session(); }
  core::Sequence sequence() const noexcept { return fsm_.sequence(); }
  std::string attempt() const { return fsm_.attempt(); }
  const std::shared_ptr<core::Lease>& lease() const noexcept { return lease_; }
  const std::string& own_name() const noexcept {
    return reads_on() ? holding_->downgrade.name() : fsm_.own_name();
  }
  /// Returns the names that the znode can have now: two while the outcome of a downgrade is
  /// unknown, else one.
  std::vector<std::string> own_names() const;

  // LeaseObserver; called without a Section.
  std::shared_ptr<LeaseObserver> alive() noexcept override { return weak_from_this().lock(); }
  void session_ended(SessionId session) override;
  void on_lease_expired(const std::shared_ptr<core::Lease>& lease) override;
  void suspended(SessionId session) override;
  void resumed(SessionId session) override;
  void tick(int& requests) override;

  /// Sets the watch on the own znode. Returns false if it is already set or cannot be set yet.
  bool watch_own();

  // Called by its parts.
  template <class Step>
  auto entering(Step step) {
    return detail::entering(weak_from_this(), std::move(step));
  }
  /// Returns the contender in the lock node, or null.
  std::shared_ptr<Contender> contender() const noexcept { return contender_.lock(); }
  /// Returns the data of the reader's znode that replaces a writer's znode at a downgrade.
  std::string data_as_reader() const;
  /// Returns whether `node`, the reply to a Get of the own name, describes the own znode.
  bool is_own(const client::Reply& node) const;
  Cohort* local() const noexcept { return local_.get(); }
  /// REQUIRES: the lock node was granted.
  ArrivalWatch& arrivals() noexcept { return holding_->arrivals; }
  /// Returns whether the lease of the lock node's session is valid. If so, sets lease() for a
  /// grant. Returns false if the lock node has no waiting contender.
  bool lease_valid() { return lease_valid(fsm_.session()); }
  OwnNodeWatch& own_watch() noexcept { return own_watch_; }
  PredecessorWatches& predecessors() noexcept { return predecessors_; }
  /// Records that the own znode was deleted, but not by this client.
  void on_own_node_deleted();
  /// Records that the path was recreated.
  void on_path_recreated();
  /// Sends the create: the CreateLimiter permits it.
  void let_through();
  void predecessor_watched(const std::string& node, const client::Reply& reply);
  /// Records that the user has read the znode's name, and so can check the znode in a transaction.
  void becomes_known_by_name() noexcept { holding_->known_by_name = true; }
  /// Returns the lock node of this client that can be granted directly when this one is released.
  /// Null if there is none, or if the successor has to wait for the watch event.
  std::shared_ptr<LockNode> local_successor() const;
  /// Records that the holder of the predecessor has released. REQUIRES: the predecessor is a znode
  /// of this client and session.
  void on_predecessor_released() noexcept;
  /// Returns whether grants follow the sequence numbers: the rule is that of a mutex, without a
  /// gate.
  bool stands_by_number() const noexcept;
  /// `which`: the index of the predecessor in waited_for().
  void predecessor_event(std::size_t which, client::request::WatchEvent event);
  const core::Few<std::string>& waited_for() const noexcept { return fsm_.watched(); }
  /// Returns the path at which another client requests the release of this lock node.
  std::string release_request_path() const;
  /// Returns the name of a delay marker that may exist although no delay is to be left. It is
  /// deleted with the znode, in one transaction. Empty if there is none.
  const std::string& unwanted_delay_marker() const noexcept { return delays_->unwanted_marker; }
  /// Returns unwanted_delay_marker() and clears it: the marker is deleted, or the caller deletes
  /// it.
  std::string take_unwanted_delay_marker();
  /// Deletes the unwanted delay marker in the background, but not the znode.
  void remove_unwanted_delay_marker(BackgroundWork::Id work = {});
  void on_release_requested();
  void on_release_forced();

 private:
  using Effect = core::AcquireEffect;
  using SiblingNode = NodeDeleter::SiblingNode;

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
  void node_is_lost();
  bool goes_by_number() const noexcept;
  NodeDeleter::Manner manner_of_release();
  NodeDeleter::Manner deletion(Manner manner);
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
    explicit Holding(LockNode& lock_node)
        : release_request(lock_node), arrivals(lock_node), downgrade(lock_node) {}

    ReleaseRequestWatch release_request;
    ArrivalWatch arrivals;
    Downgrade downgrade;
    core::Instant since{};
    std::optional<bool> awaited;        ///< the result of may_be_awaited()
    std::vector<std::string> siblings;  ///< paths of znodes, see delete_with_node()
    bool known_by_name = false;         ///< by the user of any of its holds
  };
  bool reads_on() const noexcept { return holding_ && holding_->downgrade.reads(); }
  bool name_in_doubt() const noexcept { return holding_ && holding_->downgrade.in_doubt(); }
  bool name_settled() const noexcept { return !holding_ || holding_->downgrade.settled(); }

  const std::shared_ptr<PathLock> path_lock_;
  const Requester requester_;
  const std::shared_ptr<Cohort> local_;  ///< null: the lock node is not shared

  // guarded by the path's mutex
  std::weak_ptr<Contender> contender_;
  core::AcquireFsm fsm_;
  BackgroundWork::Id work_{};      ///< from leave() until the machine has ended
  bool let_through_ = false;       ///< let through by the CreateLimiter, not passed yet
  bool had_node_ = false;          ///< a znode was created: a server was reached
  client::RequestId create_id_{};  ///< create, or another request bound to no session
  client::RequestId count_id_{};
  client::RequestId list_id_{};
  core::Lazy<Delays> delays_;
  PredecessorWatches predecessors_;
  OwnNodeWatch own_watch_{*this};
  std::unique_ptr<Holding> holding_;    ///< null before the grant
  std::int64_t queued_ms_ = 0;          ///< ctime of its first znode, in ms
  core::Instant wanted_since_{};        ///< when the znode was request, then requested
  std::shared_ptr<core::Lease> lease_;  ///< the lease of the grant
};

}  // namespace zklock::detail
