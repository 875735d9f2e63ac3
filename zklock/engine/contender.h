// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/few.h"
#include "zklock/core/lazy.h"
#include "zklock/core/ownership.h"
#include "zklock/engine/callback/lock_listener.h"
#include "zklock/engine/cohort.h"
#include "zklock/engine/grant.h"
#include "zklock/engine/lock_node.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/hold.h"

namespace zklock::detail {

/// One owner at one lock path, from its first acquire call to its last unlock. A contender has the
/// calls that wait for the grant, and later the counts and the state of the hold. Its lock node
/// (LockNode) is its lock znode in the path's queue.
///
/// | state   | in the path lock's map | in its lock node        | ends with                       |
/// |---------|------------------------|-------------------------|---------------------------------|
/// | waiting | yes                    | yes; or behind another  | grant; error; last waiting call |
/// |         |                        | contender of the client | cancelled                       |
/// | held    | yes                    | yes                     | last count dropped; loss        |
/// | lost    | yes                    | yes; the znode is being | last count dropped              |
/// |         |                        | deleted                 |                                 |
/// | over    | no                     | no; or the znode is     |                                 |
/// |         |                        | being deleted           |                                 |
///
/// If contenders of the client share a lock node, their cohort decides which one is in it.
///
/// Thread-safety: any thread may call the members that Hold uses. REQUIRES for the other members:
/// within a Section of the path lock.
class Contender : public std::enable_shared_from_this<Contender> {
 public:
  /// `key`: the contender's key in the path lock's map. `requester`: named by the znode and the
  /// Hold. `local`: the cohort of the contenders that share a lock node; null if this contender has
  /// a lock node of its own.
  Contender(std::shared_ptr<PathLock> path_lock, Owner key, const Requester& requester,
            core::AcquireFsm::Policy policy, LockEventSink event_sink,
            std::shared_ptr<Cohort> local);
  ~Contender();

  /// Begins to wait for the lock.
  void start(const Requester& requester);
  /// Adds a call. The call waits with this contender, or nests if the contender holds.
  void join(const std::shared_ptr<PendingAcquire>& call);
  /// Forgets the abandoned calls. Withdraws the contender if no other call waits.
  void sweep();
  /// Ends the waiting calls of this public object with Error(closed).
  void leave_all(const void* on_behalf);
  /// Ends all waiting calls with this error.
  void fail(Errc error, const std::string& cause);
  /// Forgets the waiting calls without completing them: their caller gets an exception instead.
  void drop_calls() noexcept;
  /// Releases one count. After the last count, the znode is deleted in this manner, or the cohort
  /// hands it off or retains it idle. Returns `refused` if there is no count of this kind.
  core::Ownership::Dropped drop(core::CountKind kind, LockNode::Manner manner);
  /// Ends the waiting calls with Error(closed), and loses a hold: the client is closing.
  void close();
  const core::Ownership& ownership() const noexcept { return ownership_; }
  /// Returns whether the contender holds. If its lease or its hold limit has passed by the clock,
  /// the hold is lost first.
  bool holds_validly();
  /// Returns the lock node that this contender is in, or behind.
  const LockNode& lock_node() const noexcept { return *node_; }
  /// Returns how many contenders of this client are ahead of this one in its lock node.
  std::size_t before_it() const { return local_ ? local_->before(*this) : 0; }
  const Owner& key() const noexcept { return key_; }

  // Used by Hold: from any thread, without a Section.
  Hold make_hold(core::CountKind kind) { return Hold(shared_from_this(), kind); }
  /// REQUIRES: the contender was granted.
  const Grant& grant() const noexcept { return *grant_; }
  const Owner& owner() const noexcept { return owner_; }
  std::int32_t permits() const noexcept { return node_->policy().rule.wanted; }
  /// Returns an object for a recipe whose own loss follows from the loss of `hold`. While the
  /// object exists, the znode of the lost hold is not deleted, but for no longer than loss
  /// callbacks may take. Returns null if no loss callback of `hold` is pending.
  static std::shared_ptr<void> being_told(const Hold& hold);
  /// Sets the watch on the contender's znode now instead of at the next tick.
  void watch_node();
  bool renew(std::optional<core::Duration> length);
  /// Records that the znode at `path` has to be deleted with the contender's znode. Returns false
  /// if the contender does not hold.
  bool delete_with_node(std::string path);
  void release(core::CountKind kind) noexcept;
  /// Deletes the znode of the ended hold.
  void release_node(LockNode::Manner manner);

  /// Returns detail::entering() of this contender, for its parts.
  template <class Step>
  auto entering(Step step) {
    return detail::entering(weak_from_this(), std::move(step));
  }
  EngineContext& core() const noexcept { return path_lock_->core(); }
  PathLock& path_lock() const noexcept { return *path_lock_; }
  /// Queues an event for the user's event callback. REQUIRES: within a Section, which keeps the
  /// events in the order in which they happened.
  void notify_event(LockEvent::Kind kind, FencingToken token,
                    std::size_t position = 0) const noexcept;
  /// Loses the hold if it has lapsed by the clock; else reports its coming end when that is due.
  void look_at_the_clock();
  /// The path was recreated: the znode is lost if it was in the old path.
  void on_path_recreated() { node_->on_path_recreated(); }

  // Called by its cohort.
  /// Puts the contender in `lock node`.
  void stands_in(std::shared_ptr<LockNode> lock_node);
  /// Puts the contender behind `lock node`.
  void waits_for(std::shared_ptr<LockNode> lock_node) { node_ = std::move(lock_node); }
  /// Ends the contender and all its calls with this error: the shared lock node has failed.
  void refused(Errc error, const std::string& cause);
  /// Returns whether the contender waits for the lock. False: it is a single attempt.
  bool waits() const noexcept { return waits_; }
  bool is_heard() const noexcept { return static_cast<bool>(*event_sink_); }

  // Called by its lock node.
  void granted();
  void failed(Errc error, const std::string& cause);
  /// Its lock node has ended without a grant.
  void attempt_ended();
  /// No server was reached within ClientOptions::connection_timeout. Ends the waiting calls that
  /// have no deadline of their own with Error(not_connected).
  void connection_timed_out(const std::string& cause);
  void waits_at(std::size_t position);
  void suspended();
  void resumed();
  enum class Loss {
    lease,   ///< the lease has ended
    node,    ///< the znode does not exist any more
    limit,   ///< the maximum hold time has passed
    forced,  ///< by request_release()
  };
  /// Makes the hold lost: ends its grant, calls the loss callbacks, then deletes the znode.
  void lose(Loss why);
  void on_release_requested();
  void on_release_forced();

 private:
  using Calls = core::Few<std::shared_ptr<PendingAcquire>>;

  /// Returns why a call of this kind may not join; nothing if it may.
  std::optional<Error> refusal(core::CountKind kind) const;
  const core::AcquireFsm::Policy& policy() const noexcept;
  core::QueueRule rule_for(const Calls& waiting) const;
  void withdraw();
  void depart();
  void decline(core::CountKind kind);
  void notify_loss(Loss why);
  /// Shared by the loss callbacks of a hold. When the last one has returned, its destructor deletes
  /// the znode.
  struct HandOver {
    explicit HandOver(std::shared_ptr<Contender> whose) : contender(std::move(whose)) {}
    HandOver(const HandOver&) = delete;
    HandOver& operator=(const HandOver&) = delete;
    ~HandOver();

    const std::shared_ptr<Contender> contender;
    /// The callbacks were sent. If not, memory was short, and only the timer deletes the znode.
    bool sent = false;
  };
  /// Set by a loss while the znode may still exist: it is deleted after the callbacks.
  struct HandingOver {
    std::optional<BackgroundWork::Id> work;  ///< until the delete begins
    std::weak_ptr<HandOver> awaited;
  };
  /// After this Section, stops `source` on a thread that may run the user's callbacks. `keep` is
  /// held until they have returned.
  void tell(std::stop_source source, std::shared_ptr<HandOver> keep);
  void hand_over();
  void downgrade_if_only_shared();
  void complete_all(Errc code, const std::string& cause);
  AcquireOutcome closed() const;
  Error error(Errc code, std::string_view cause) const;

  const std::shared_ptr<PathLock> path_lock_;
  const Owner key_;
  const Owner owner_;
  const std::shared_ptr<Cohort> local_;  ///< null: its lock node is not shared
  const core::Lazy<LockEventSink> event_sink_;
  const bool waits_;

  // guarded by the path's mutex
  bool abandoned_ = false;  ///< its thread ended while holding the lock
  core::Ownership ownership_;
  std::shared_ptr<LockNode> node_;  ///< null only before start(); constant after the grant
  Calls calls_;                     ///< waiting calls
  core::Lazy<HandingOver> handing_over_;

  // set before the grant is reported, then constant
  std::unique_ptr<Grant> grant_;
};

}  // namespace zklock::detail
