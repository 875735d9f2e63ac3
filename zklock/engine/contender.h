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
#include "zklock/engine/callback/event_delivery.h"
#include "zklock/engine/hold_record.h"
#include "zklock/engine/lock_event_reporter.h"
#include "zklock/engine/lock_node.h"
#include "zklock/engine/loss_notification.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/hold.h"

namespace zklock::detail {

/// One owner at one lock path, from its first acquire call to its last unlock. A contender has the
/// calls that wait for the grant, and later the counts and the state of the hold. Its lock node
/// (LockNode) has its znode in the queue. Contenders of one client can share a lock node.
///
/// | state   | registered in the path | in its lock node        | ends with                       |
/// |---------|------------------------|-------------------------|---------------------------------|
/// | waiting | yes                    | yes; or behind another  | grant; error; last waiting call |
/// |         |                        | contender of the client | cancelled                       |
/// | held    | yes                    | yes                     | last count dropped; loss        |
/// | lost    | yes                    | yes; the znode is being | last count dropped              |
/// |         |                        | deleted                 |                                 |
/// | over    | no                     | no                      |                                 |
///
/// Thread-safety: any thread may call the constructor and the members that Hold uses. REQUIRES for
/// the other members: the engine mutex is held. REQUIRES for the destructor, if there is a
/// listener: it is not held.
class Contender final : public std::enable_shared_from_this<Contender> {
 public:
  /// `key`: the owner whose calls join this contender. `caller`: named by the znode and the
  /// Hold. `waits`: false for a single attempt.
  Contender(std::shared_ptr<PathLock> path, Owner key, const Caller& caller, bool waits,
            LockEventSink event_sink, MetricsTarget metrics);
  ~Contender();

  /// Returns whether the contender waits for the lock. False: it is a single attempt.
  bool waits() const noexcept { return waits_; }
  /// Adds a call, which requests a hold by `rule`. The call waits with this contender, or nests if
  /// the contender holds. If refusal() returns an error, the call ends with it. If the call is a
  /// single attempt, but this contender waits in the queue, the call ends without a grant.
  void join(const std::shared_ptr<PendingAcquire>& call, const core::QueueRule& rule);
  /// Forgets the calls that have ended. Withdraws the contender if no other call waits.
  void drop_ended_calls();
  /// Releases one count. After the last count, its registration and its hold end. Then the znode is
  /// deleted, handed off or retained. `thread_ended`: the owner's thread has ended, perhaps in the
  /// middle of its work under the lock. Returns `refused` if the owner has no count of this kind.
  /// REQUIRES: the caller retains this object.
  core::Ownership::Dropped drop(core::CountKind kind, bool thread_ended = false) noexcept;
  const core::Ownership& ownership() const noexcept { return ownership_; }
  /// Reads the clock, and makes the hold lost if its lease or its hold limit has ended. Returns the
  /// reading. Does not read the clock if the contender does not hold.
  core::Instant check_validity();
  /// Returns whether the contender holds and has not lost the hold. Does not read the clock.
  bool holds() const noexcept { return ownership_.state() == core::Ownership::State::held; }
  /// Adds this contender to the gauges of its label in the metrics: how many hold or wait, and the
  /// longest times, as of `now`.
  void add_to(LabelStates& states, core::Instant now) const;
  /// Returns the lock node that this contender is in, or behind.
  const LockNode& lock_node() const noexcept { return *node_; }
  /// Returns the oldest call that still waits, or null.
  const PendingAcquire* oldest_call() const {
    return calls_.empty() ? nullptr : calls_.front().get();
  }
  /// See LocalQueue::count_ahead_of().
  std::size_t count_ahead() const { return node_->count_ahead_of(*this); }
  /// Returns the owner under which the path lock registers this contender.
  const Owner& key() const noexcept { return key_; }
  /// Calls check_validity(). If the hold is still valid, reports LockEvent::Kind::expiring when
  /// that is due.
  void check_clock();
  /// Returns the path of the znode of the hold, and records that the user can check the znode in a
  /// transaction.
  std::string expose_node();
  /// Returns an object that delays the delete of the lost hold's znode while it exists, at most for
  /// ClientOptions::loss_callback_limit. Returns null if no delete is due; see
  /// LossNotification::delay_delete().
  std::shared_ptr<void> delay_delete();
  /// Records that the znode at `path` has to be deleted with the contender's znode. Returns false
  /// if the contender does not hold.
  bool delete_with_node(std::string path);
  void when_name_settled(std::function<void()> then) { node_->when_name_settled(std::move(then)); }
  /// Handles a recreation of the path: a znode of the old path is lost.
  void on_path_recreated() { node_->on_path_recreated(); }

  void assert_invariants() const noexcept;

  // Used by Hold: from any thread, without an EngineLock.
  Hold make_hold(core::CountKind kind) { return Hold(shared_from_this(), kind); }
  /// REQUIRES: the contender was granted.
  const HoldRecord& hold_record() const noexcept { return *record_; }
  /// Returns the owner that the znode and the Hold name; it can differ from key().
  const Owner& owner() const noexcept { return reporter_.owner(); }
  PathLock& path_lock() const noexcept { return *path_; }
  EngineLock::Entry entry() const noexcept { return path_->entry(); }
  /// Calls delay_delete() of the contender of `hold`. Returns null if the hold is empty.
  static std::shared_ptr<void> delay_delete(const Hold& hold);
  /// Returns the path of the znode of the hold. While a downgrade is in flight, this path may be
  /// old.
  std::string node_path() const;
  /// Sets the watch on the contender's znode now instead of at the next tick.
  void watch_node();
  bool renew(std::optional<core::Duration> length);
  void release(core::CountKind kind) noexcept;

 private:
  friend class LocalQueue;
  friend class LockNode;
  friend class PathLock;

  // Called by its path lock.
  /// Sets the lock node that the contender is in, or behind.
  void set_lock_node(std::shared_ptr<LockNode> lock_node) noexcept { node_ = std::move(lock_node); }
  /// Begins to wait for the lock. REQUIRES: it has a lock node.
  void start(const Caller& caller) { node_->admit(shared_from_this(), caller); }
  /// Ends all waiting calls with this error, and withdraws the contender. Does nothing unless the
  /// contender waits.
  void fail(Errc error, const std::string& cause) noexcept;
  /// Ends the waiting calls of the public object `object` with Error(closed).
  void cancel_calls(const void* object);
  /// Ends the waiting calls with Error(closed), and makes a hold lost: the client is closing.
  void close();

  // Called by its lock node.
  bool has_listener() const noexcept { return reporter_.has_listener(); }
  /// `now`: a reading of the clock just before the grant.
  void on_granted(core::Instant now);
  /// Ends all calls with this error: the acquire has failed.
  void on_failed(Errc error, const std::string& cause);
  /// Ends the calls without a hold: the acquire has ended without a grant. Joined calls that may
  /// wait get a new contender. No znode exists, or it is being deleted.
  void on_ended();
  /// Reports LockEvent `waiting` at this position of the queue; 0: the contender is first.
  void on_position(std::size_t position);
  void on_suspended();
  void on_resumed();
  /// Another client requests the release. `force`: the hold ends now.
  void on_release_requested(bool force);
  /// Ends the calls without a deadline with Error(not_connected): no server was reached within
  /// ClientOptions::connection_timeout.
  void on_unreachable(const std::string& cause);
  /// Makes the hold lost and ends its grant. The loss callbacks and the delete follow. Does nothing
  /// unless the contender holds.
  void lose(LossReason why) noexcept;

  using Calls = boost::container::small_vector<std::shared_ptr<PendingAcquire>, 1>;

  EngineContext& context() const noexcept { return path_->context(); }
  /// Returns why a call with this kind of count and this rule may not join; std::nullopt if it may.
  std::optional<Error> refusal(core::CountKind kind, const core::QueueRule& rule) const;
  const core::AcquireFsm::Policy& policy() const noexcept { return node_->machine().policy(); }
  core::QueueRule rule_for(const Calls& waiting) const;
  /// Returns the callback for the timers of a hold limit.
  std::function<void()> clock_reader();
  /// `waited`: from the beginning of the oldest waiting call to the grant.
  void log_acquired(core::Duration waited) const;
  /// Completes the call with a count of the hold.
  void give_count(PendingAcquire& call);
  /// Counts the end of the hold in the metrics.
  void count_end(HoldEnd end, core::Instant now) const noexcept;
  void withdraw() noexcept;
  /// If there is a listener, retains this object until the EngineLock has ended. A listener may own
  /// user objects, which must not be destroyed under the mutex.
  void outlive_lock() noexcept;
  /// Unregisters the contender without a grant: from now on its state is `over`.
  void depart();
  void delete_lost_node(BackgroundWork::Id work, core::Instant lost_at);
  void downgrade_if_only_shared();
  void complete_all(Errc code, const std::string& cause);
  AcquireOutcome closed() const;
  Error error(Errc code, std::string_view cause) const;

  const std::shared_ptr<PathLock> path_;
  const Owner key_;
  const LockEventReporter reporter_;
  LabelMetrics* const metrics_;  ///< null: not counted
  const bool waits_;
  const bool leads_;  ///< see MetricsTarget

  /// The owner's thread has ended while it had an exclusive count.
  bool thread_ended_ = false;
  core::Ownership ownership_;
  /// Null only before it is registered. Constant after the grant.
  std::shared_ptr<LockNode> node_;
  Calls calls_;  ///< waiting calls
  std::weak_ptr<LossNotification> loss_;

  // set before the grant is reported, then constant
  std::unique_ptr<HoldRecord> record_;
};

}  // namespace zklock::detail
