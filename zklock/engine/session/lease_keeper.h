// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/mutex.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/core/lease.h"
#include "zklock/core/lease_evidence.h"
#include "zklock/hold.h"

namespace zklock::detail {

using core::Instant;
using core::SessionId;

/// An object that the LeaseKeeper notifies: a path lock, on behalf of its lock nodes that wait or
/// are held. Called with no mutex of the engine held, except shared_if_alive().
class LeaseObserver {
 public:
  virtual ~LeaseObserver() = default;
  /// Returns null once the destruction of the object has begun.
  virtual std::shared_ptr<LeaseObserver> shared_if_alive() noexcept = 0;
  /// The session has ended, and so have its znodes.
  virtual void on_session_ended(SessionId session) = 0;
  /// The lease has lapsed: all holds granted in it are lost.
  virtual void on_lease_expired(const std::shared_ptr<core::Lease>& lease) = 0;
  /// The connection broke. The session may live on.
  virtual void on_suspended(SessionId session) = 0;
  /// The session has a connection again.
  virtual void on_resumed(SessionId session) = 0;
  /// Called at each tick. Each lock node sets the watch on its own znode, if that is not set.
  /// `requests` is the number of requests that waiting lock nodes may still send at this tick. A
  /// waiting lock node subtracts its own requests; a holding one does not.
  virtual void on_tick(int& requests) = 0;

 private:
  friend class LeaseKeeper;
  boost::intrusive::list_member_hook<> member_hook_;  ///< guarded by the keeper
};

/// Keeps the current session's lease. It sends two kinds of requests. A heartbeat is a quorum
/// operation: its answer extends the lease. A sync is answered by the leader, and no server logs
/// it. A sync extends no lease. It gives LeaseEvidence a time of contact for the next extension,
/// and shows a pause of the leader. When the lease lapses, the keeper notifies the members. A
/// waiting contender needs no lease before its turn. If the lease is too short by then, the
/// contender checks its znode first, and the answer begins a lease.
///
/// | event              | effect (T: the session timeout)                                       |
/// |--------------------|-----------------------------------------------------------------------|
/// | connected          | the evidence restarts; a heartbeat; the lease of a living session     |
/// |                    | ends no later than handshake_lease_expiry(); members are notified     |
/// | answered by quorum | the lease is extended; if it lapsed, or there is none, a new lease    |
/// |                    | begins                                                                |
/// | tick               | the request that is due is sent: see below; the members are notified  |
/// | lease's end        | it lapses; the members are notified                                   |
/// | suspended          | no requests; the lease runs on to its end; the members are notified   |
/// | ended              | the lease lapses; the members are notified                            |
///
/// A request is due a certain time after the last request that the leader had to answer. The table
/// below gives that time. A request of the user is such a request too, unless it is a read. The
/// first row that applies decides:
///
/// | when                                                                         | after       |
/// |------------------------------------------------------------------------------|-------------|
/// | less than T/3 of the lease is left, and within the last T/2 either a         | T/20        |
/// | HeartbeatDemand began or on_lease_needed() was called; not after the end of  |             |
/// | the last HeartbeatDemand                                                     |             |
/// | there is a HeartbeatDemand                                                   | T/10        |
/// | in the last T, an answer took longer than T/24                               | T/10        |
/// | otherwise                                                                    | 7T/24       |
///
/// The request is a heartbeat if less than 11T/24 of the lease are left and there is a
/// HeartbeatDemand. Otherwise it is a sync.
///
/// The C client would send a ping after T/3. The client does not learn the times of pings, so they
/// are no evidence. With a sync every 7T/24 as evidence, the lease of a grant is long enough to be
/// extended in time by requests every T/20. That holds for round trips of up to T/16, also if they
/// become that long only at the grant; see slow_network_test.cpp.
///
/// Ticks come every T/20, and each sends what is due within T/40. While the interval is 7T/24, a
/// tick comes only when a request is due, to wake no thread in between.
///
/// Thread-safety: any thread may call any member. REQUIRES: made by std::make_shared; the ports
/// outlive stop().
class LeaseKeeper : public std::enable_shared_from_this<LeaseKeeper> {
 public:
  LeaseKeeper(client::Coordinator& coordinator, client::Scheduler& scheduler);
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  /// Represents a held lock node. While there is one, heartbeats are sent.
  class HeartbeatDemand {
   public:
    explicit HeartbeatDemand(LeaseKeeper& keeper) : keeper_(keeper) {
      ++keeper_.heartbeat_demands_;
      keeper_.on_lease_needed(keeper_.timeout() / 20);
    }
    ~HeartbeatDemand() {
      Instant needed = keeper_.needed_until_;
      if (--keeper_.heartbeat_demands_ > 0) return;
      // A demand that begins meanwhile sets another time, which stays.
      keeper_.needed_until_.compare_exchange_strong(needed, Instant{});
    }
    HeartbeatDemand(const HeartbeatDemand&) = delete;
    HeartbeatDemand& operator=(const HeartbeatDemand&) = delete;

   private:
    LeaseKeeper& keeper_;
  };

  // Called for the events of the coordinator.
  void on_connected(const client::SessionInfo& session);
  void on_suspended(SessionId session);
  void on_ended(SessionId session);
  void on_answered(SessionId session, Instant sent_at, core::AnsweredBy by);

  /// Adds a member. Members are notified in the order in which they were added. REQUIRES: dismiss()
  /// is called before the member's destructor ends.
  void enlist(LeaseObserver& member) noexcept;
  /// Removes a member. Does nothing if it was not added.
  void dismiss(LeaseObserver& member) noexcept;
  /// Called when a lock node begins to wait or to be held, and when it ends. Members are notified
  /// only while there is such a lock node.
  void begin_use() noexcept { ++uses_; }
  void end_use() noexcept { --uses_; }
  bool is_used() const noexcept { return uses_.load() > 0; }

  /// Returns the lease for a grant on `session` now; null if it does not suffice.
  std::shared_ptr<core::Lease> lease_for_grant(SessionId session);
  /// Returns whether the lease suffices for a grant now: it is valid for at least 7T/24 more. After
  /// a pause of the client or the leader, the first answers extend the lease only a little. Before
  /// full_again_at_, the lease must also be valid beyond full_again_at_.
  bool suffices_for_grant(core::Lease& lease) const;
  /// A contender needs a lease for its grant, or a hold begins. The next tick comes within `wait`.
  void on_lease_needed(core::Duration wait = {});
  /// Returns whether the leader has answered a request that was sent at most T/2 ago.
  bool has_contact() const;

  bool is_connected() const noexcept { return connected_.load(std::memory_order_relaxed); }
  /// Returns the number of connections so far, which identifies the current or last one.
  std::uint64_t connection() const noexcept { return connections_.load(); }
  /// Returns when the first quorum operation of the current or last connection was sent. A request
  /// sent at or after this time shows a state at least as new as the beginning of the connection.
  Instant up_to_date_since() const noexcept { return up_to_date_since_.load(); }
  SessionId session() const noexcept { return SessionId{session_id_.load()}; }
  /// Returns why a lease of `session` has lapsed: the lease has ended, or the session has.
  LossReason reason_of_lapse(SessionId session) const noexcept {
    return this->session() == session ? LossReason::lease_expired : LossReason::session_expired;
  }
  /// Returns the shortest session timeout that a server granted to the session.
  core::Duration timeout() const noexcept { return core::Duration(timeout_.load()); }

  /// Returns how much of the lease is left. Returns nothing without a HeartbeatDemand.
  std::optional<core::Duration> lease_remaining() const;
  /// Returns how many heartbeats and syncs got no answer.
  std::uint64_t heartbeat_failures() const noexcept { return heartbeat_failures_.load(); }
  /// Returns how often less than T/4 of the lease was left when the quorum answered, while there was
  /// a HeartbeatDemand.
  std::uint64_t low_leases() const noexcept { return low_leases_.load(); }

  /// Ends the heartbeats and the ticks, and makes the lease lapse.
  void stop();

 private:
  using Members = std::vector<std::shared_ptr<LeaseObserver>>;
  using LeasePtr = std::shared_ptr<core::Lease>;

  /// Returns how much of the lease is left.
  core::Duration lease_left(Instant now) const ZKLOCK_REQUIRES(mutex_);
  /// Returns the time from the last request for the leader to the next.
  core::Duration interval(Instant now) const ZKLOCK_REQUIRES(mutex_);
  void tick(SessionId session);
  /// Schedules the next tick. Without `wait`, it comes after T/20, or when the next request is due.
  void schedule_tick(SessionId session, std::optional<core::Duration> wait = {});
  /// Requests are due more often from now on. If the next tick was postponed until a request is due,
  /// it comes after `wait` at the latest.
  void hurry(core::Duration wait);
  void send(client::Operation operation, SessionId session);
  void watch_lease(const LeasePtr& lease);
  void on_lease_due(const LeasePtr& lease);
  /// Makes the lease lapse, and notifies the members.
  void lapse_and_notify(const LeasePtr& lease);
  Members members() const;
  void assert_invariants() const ZKLOCK_REQUIRES(mutex_);

  client::Coordinator& coordinator_;
  client::Scheduler& scheduler_;

  std::atomic<bool> connected_{false};
  std::atomic<std::uint64_t> connections_{0};
  std::atomic<Instant> up_to_date_since_{Instant::max()};
  std::atomic<std::int64_t> session_id_{0};
  std::atomic<core::Duration::rep> timeout_{0};
  std::atomic<int> uses_{0};
  std::atomic<int> heartbeat_demands_{0};
  /// T/2 after a demand began, or on_lease_needed(). Reset by the end of the last demand.
  std::atomic<Instant> needed_until_{Instant{}};
  std::atomic<std::uint64_t> heartbeat_failures_{0};
  std::atomic<std::uint64_t> low_leases_{0};
  std::atomic<bool> tick_is_postponed_{false};  ///< postponed until a request is due
  /// The time from which answers extend the lease fully again. Set after a gap of more than T/2 in
  /// the answers.
  std::atomic<Instant> full_again_at_{Instant{}};

  mutable client::Mutex mutex_;
  bool stopped_ ZKLOCK_GUARDED_BY(mutex_) = false;
  /// Evidence of the connection. Nothing while suspended.
  std::optional<core::LeaseEvidence> evidence_ ZKLOCK_GUARDED_BY(mutex_);
  LeasePtr lease_ ZKLOCK_GUARDED_BY(mutex_);              ///< of the session; may have lapsed
  bool lease_was_low_ ZKLOCK_GUARDED_BY(mutex_) = false;  ///< at the quorum's last answer
  /// The shortest session timeout that a server granted to this session. A reconnect can change the
  /// timeout. But a new leader applies the timeout of the session's creation, until a server
  /// forwards a packet of the session.
  core::Duration shortest_timeout_ ZKLOCK_GUARDED_BY(mutex_) = {};
  /// The sending time of the last request that the leader had to answer: one of the keeper, or an
  /// answered one of the user. Reads do not count, because they show no pause of the leader.
  Instant last_leader_request_ ZKLOCK_GUARDED_BY(mutex_) = {};
  Instant last_answered_
      ZKLOCK_GUARDED_BY(mutex_) = {};                  ///< of the last answered one, reads included
  Instant slow_until_ ZKLOCK_GUARDED_BY(mutex_) = {};  ///< T after an answer that came late
  /// The sending time of the last request that the leader has answered.
  Instant last_leader_answer_ ZKLOCK_GUARDED_BY(mutex_) = {};
  client::TimerId tick_timer_ ZKLOCK_GUARDED_BY(mutex_) = {};
  Instant tick_at_ ZKLOCK_GUARDED_BY(mutex_) = {};  ///< when tick_timer_ is due
  using MemberHook =
      boost::intrusive::member_hook<LeaseObserver, boost::intrusive::list_member_hook<>,
                                    &LeaseObserver::member_hook_>;
  mutable boost::intrusive::list<LeaseObserver, MemberHook> members_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::detail
