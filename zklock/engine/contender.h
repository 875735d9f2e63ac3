// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/container/small_vector.hpp>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/ownership.h"
#include "zklock/engine/callback/lock_listener.h"
#include "zklock/engine/cohort.h"
#include "zklock/engine/cohort_member.h"
#include "zklock/engine/grant.h"
#include "zklock/engine/lock_event_reporter.h"
#include "zklock/engine/lock_node.h"
#include "zklock/engine/loss_notification.h"
#include "zklock/engine/path_queue.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/release_plan.h"
#include "zklock/hold.h"

namespace zklock::detail {

/// The result of Contender::drop().
struct DropResult {
  core::Ownership::Dropped count;
  ReleasePlan plan = ReleasePlan::none;
};

/// One owner at one lock path, from its first acquire call to its last unlock. A contender has the
/// calls that wait for the grant, and later the counts and the state of the hold. Its lock node
/// (LockNode) has its znode in the queue. Contenders of a cohort share a lock node.
///
/// | state   | registered in the path  | in its lock node        | ends with                       |
/// |---------|-------------------------|-------------------------|---------------------------------|
/// | waiting | yes                     | yes; or behind another  | grant; error; last waiting call |
/// |         |                         | contender of the client | cancelled                       |
/// | held    | yes                     | yes                     | last count dropped; loss        |
/// | lost    | yes                     | yes; the znode is being | last count dropped              |
/// |         |                         | deleted                 |                                 |
/// | over    | no                      | no                      |                                 |
///
/// If contenders of the client share a lock node, their cohort decides which one is in it.
///
/// Thread-safety: any thread may call the members that Hold uses. REQUIRES for the other members:
/// path_mutex is held.
class Contender final : private CohortMember, public std::enable_shared_from_this<Contender> {
 public:
  /// `key`: the owner whose calls join this contender. `caller`: named by the znode and the
  /// Hold. `cohort`: the cohort of the contenders that share a lock node; null if this contender
  /// has a lock node of its own.
  Contender(std::shared_ptr<PathQueue> path, Owner key, const Caller& caller,
            core::AcquireFsm::Policy policy, LockEventSink event_sink, MetricsTarget metrics,
            std::shared_ptr<Cohort> cohort);
  ~Contender();

  /// Begins to wait for the lock.
  void start(const Caller& caller) ZKLOCK_REQUIRES(path_mutex);
  /// Adds a call, which requests a hold by `rule`. The call waits with this contender, or nests if
  /// the contender holds. If refusal() returns an error, the call ends with it. If the call is a
  /// single attempt, but this contender waits in the queue, the call ends without a grant.
  void join(const std::shared_ptr<PendingAcquire>& call, const core::QueueRule& rule)
      ZKLOCK_REQUIRES(path_mutex);
  /// Forgets the calls that have ended. Withdraws the contender if no other call waits.
  void drop_ended_calls() ZKLOCK_REQUIRES(path_mutex);
  /// Ends the waiting calls of the public object `object` with Error(closed).
  void cancel_calls(const void* object) ZKLOCK_REQUIRES(path_mutex);
  /// Ends all waiting calls with this error, and withdraws the contender. Does nothing unless the
  /// contender waits.
  void fail(Errc error, const std::string& cause) noexcept ZKLOCK_REQUIRES(path_mutex);
  /// Releases one count. After the last count, the contender is dismissed, and its hold ends; then
  /// the caller must pass the plan to execute(). `thread_ended`: the owner's thread has ended,
  /// perhaps in the middle of its work under the lock. In the result, `count` is `refused` if the
  /// owner has no count of this kind. REQUIRES: the caller retains this object until execute() has
  /// returned.
  DropResult drop(core::CountKind kind, bool thread_ended = false) noexcept
      ZKLOCK_REQUIRES(path_mutex);
  /// Carries out a plan that drop() has returned: deletes the znode, or the cohort hands it off or
  /// retains it.
  void execute(ReleasePlan plan) noexcept ZKLOCK_REQUIRES(path_mutex);
  /// Ends the waiting calls with Error(closed), and makes a hold lost: the client is closing.
  void close() ZKLOCK_REQUIRES(path_mutex);
  const core::Ownership& ownership() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return ownership_;
  }
  /// Reads the clock, and makes the hold lost if its lease or its hold limit has ended. Returns the
  /// reading. Does not read the clock if the contender does not hold.
  core::Instant check_validity() ZKLOCK_REQUIRES(path_mutex);
  /// Returns whether the contender holds and has not lost the hold. Does not read the clock.
  bool holds() const noexcept ZKLOCK_REQUIRES(path_mutex) {
    return ownership_.state() == core::Ownership::State::held;
  }
  /// Adds this contender to the state of its label at the time `now`.
  void add_to(LabelStates& states, core::Instant now) const ZKLOCK_REQUIRES(path_mutex);
  /// Returns the lock node that this contender is in, or behind.
  const LockNode& lock_node() const noexcept ZKLOCK_REQUIRES(path_mutex) { return *node_; }
  /// Returns the oldest call that still waits, or null.
  const PendingAcquire* oldest_call() const ZKLOCK_REQUIRES(path_mutex) {
    return calls_.empty() ? nullptr : calls_.front().get();
  }
  /// Returns how many contenders of this client take their turn on the same lock node before this
  /// one.
  std::size_t members_ahead() const ZKLOCK_REQUIRES(path_mutex) {
    return cohort_ ? cohort_->members_ahead(*this) : 0;
  }
  /// Returns the owner under which the path lock registers this contender.
  const Owner& key() const noexcept { return key_; }
  /// Calls check_validity(). If the hold is still valid, reports LockEvent::Kind::expiring when
  /// that is due.
  void look_at_the_clock() ZKLOCK_REQUIRES(path_mutex);
  /// The path was recreated: the znode is lost if it was in the old path.
  void on_path_recreated() ZKLOCK_REQUIRES(path_mutex) { node_->on_path_recreated(); }

  void assert_invariants() const noexcept ZKLOCK_REQUIRES(path_mutex);

  // Used by Hold: from any thread, without a Lock.
  Hold make_hold(core::CountKind kind) { return Hold(shared_from_this(), kind); }
  /// REQUIRES: the contender was granted.
  const Grant& grant() const noexcept { return *grant_; }
  /// Returns the owner that the znode and the Hold name; it can differ from key().
  const Owner& owner() const noexcept { return reporter_.owner(); }
  PathContext& path_context() const noexcept { return *path_; }
  /// Returns an object that delays the delete of the lost hold's znode while it exists, at most
  /// for ClientOptions::loss_callback_limit. Returns null if no delete is due; see LossNotification::delay_delete().
  static std::shared_ptr<void> delay_delete(const Hold& hold);
  /// Sets the watch on the contender's znode now instead of at the next tick.
  void watch_node();
  bool renew(std::optional<core::Duration> length);
  /// Records that the znode at `path` has to be deleted with the contender's znode. Returns false
  /// if the contender does not hold.
  bool delete_with_node(std::string path);
  void release(core::CountKind kind) noexcept;

 private:
  using Calls = boost::container::small_vector<std::shared_ptr<PendingAcquire>, 1>;

  // CohortMember and LockNodeObserver.
  bool waits() const noexcept override { return waits_; }
  bool has_listener() const noexcept override { return reporter_.has_listener(); }
  void set_lock_node(std::shared_ptr<LockNode> lock_node) noexcept override
      ZKLOCK_REQUIRES(path_mutex) {
    node_ = std::move(lock_node);
  }
  void on_cohort_failed(Errc error, const std::string& cause) override ZKLOCK_REQUIRES(path_mutex);
  void on_granted(core::Instant now) override ZKLOCK_REQUIRES(path_mutex);
  void on_failed(Errc error, const std::string& cause) override ZKLOCK_REQUIRES(path_mutex);
  void on_ended() override ZKLOCK_REQUIRES(path_mutex);
  void on_lost(LossReason why) override ZKLOCK_REQUIRES(path_mutex);
  void on_position(std::size_t position) override ZKLOCK_REQUIRES(path_mutex);
  void on_suspended() override ZKLOCK_REQUIRES(path_mutex);
  void on_resumed() override ZKLOCK_REQUIRES(path_mutex);
  void on_release_requested(bool force) override ZKLOCK_REQUIRES(path_mutex);
  void on_unreachable(const std::string& cause) override ZKLOCK_REQUIRES(path_mutex);

  std::shared_ptr<CohortMember> as_member() { return {shared_from_this(), this}; }
  EngineContext& core() const noexcept { return path_->core(); }
  /// Returns why a call with this kind of count and this rule may not join; nothing if it may.
  std::optional<Error> refusal(core::CountKind kind, const core::QueueRule& rule) const
      ZKLOCK_REQUIRES(path_mutex);
  const core::AcquireFsm::Policy& policy() const noexcept ZKLOCK_REQUIRES(path_mutex);
  core::QueueRule rule_for(const Calls& waiting) const ZKLOCK_REQUIRES(path_mutex);
  /// Returns the callback for the timers of a hold limit.
  std::function<void()> clock_reader();
  /// `waited`: from the beginning of the oldest waiting call to the grant.
  void log_acquired(core::Duration waited) const ZKLOCK_REQUIRES(path_mutex);
  /// Completes the call with a count of the hold.
  void give_count(PendingAcquire& call) ZKLOCK_REQUIRES(path_mutex);
  /// Counts the end of the hold in the metrics.
  void count_end(HoldEnd end, core::Instant now) const noexcept ZKLOCK_REQUIRES(path_mutex);
  void withdraw() noexcept ZKLOCK_REQUIRES(path_mutex);
  /// The listener may be the last owner of objects of the user, which must not end under the mutex.
  /// If there is one, this object exists until the EngineLock has ended.
  void outlive_lock() noexcept ZKLOCK_REQUIRES(path_mutex);
  /// Unregisters the contender without a grant: from now on its state is `over`.
  void depart() ZKLOCK_REQUIRES(path_mutex);
  /// Makes the hold lost and ends its grant. The loss callbacks and the delete follow.
  void lose(LossReason why) noexcept ZKLOCK_REQUIRES(path_mutex);
  void delete_lost_node(BackgroundWork::Id work, core::Instant lost_at) ZKLOCK_REQUIRES(path_mutex);
  ReleasePlan decide_release() const ZKLOCK_REQUIRES(path_mutex);
  void downgrade_if_only_shared() ZKLOCK_REQUIRES(path_mutex);
  void complete_all(Errc code, const std::string& cause) ZKLOCK_REQUIRES(path_mutex);
  AcquireOutcome closed() const;
  Error error(Errc code, std::string_view cause) const;

  const std::shared_ptr<PathQueue> path_;
  const Owner key_;
  const std::shared_ptr<Cohort> cohort_;  ///< null: its lock node is not shared
  const LockEventReporter reporter_;
  LabelMetrics* const metrics_;  ///< null: not counted
  const bool waits_;
  const bool leads_;  ///< see MetricsTarget

  /// The owner's thread has ended while it had an exclusive count.
  bool thread_ended_ ZKLOCK_GUARDED_BY(path_mutex) = false;
  core::Ownership ownership_ ZKLOCK_GUARDED_BY(path_mutex);
  /// Null only before start(). Constant after the grant.
  std::shared_ptr<LockNode> node_ ZKLOCK_GUARDED_BY(path_mutex);
  Calls calls_ ZKLOCK_GUARDED_BY(path_mutex);  ///< waiting calls
  std::weak_ptr<LossNotification> loss_ ZKLOCK_GUARDED_BY(path_mutex);

  // set before the grant is reported, then constant
  std::unique_ptr<Grant> grant_;
};

}  // namespace zklock::detail
