// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include <boost/intrusive/list.hpp>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/core/lease_evidence.h"
#include "zklock/core/validity_period.h"
#include "zklock/hold.h"

namespace zklock::detail {

using core::Instant;
using core::SessionId;

class EngineContext;

/// An event that the LeaseKeeper passes to its members.
struct LeaseEvent {
  enum class Kind {
    session_ended,  ///< its znodes are deleted
    lease_expired,  ///< all holds under `lease` are lost
    suspended,      ///< the connection broke; the session may live on
    resumed,        ///< the session has a connection again
    tick,           ///< time for missing watches and hold markers
    closed,         ///< the client is closing
  };
  Kind kind;
  SessionId session = {};
  std::shared_ptr<core::Lease> lease = {};
  /// The number of requests that may still be sent at this tick. Waiting lock nodes need them for
  /// their watches, and held ones for their hold markers.
  int requests = 0;
  std::uint64_t tick = 0;  ///< number of this tick
};

/// An object that the LeaseKeeper notifies: a lock node, until it ends.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held.
class LeaseObserver {
 public:
  virtual void on_lease_event(LeaseEvent& event) = 0;
  bool is_enlisted() const noexcept { return hook_.is_linked(); }

 protected:
  ~LeaseObserver() = default;  // REQUIRES: it was dismissed

 private:
  friend class LeaseKeeper;
  boost::intrusive::list_member_hook<> hook_;
};

/// Keeps the current session's lease. It sends two kinds of requests. A heartbeat is a quorum
/// operation: its answer extends the lease. A sync is answered by the leader, and no server logs
/// it. A sync extends no lease. But a long gap between two packets of the session shortens the next
/// extension (LeaseEvidence), and a sync is a packet. A slow answer to a heartbeat or a sync
/// reveals a pause of the server or the leader. When the lease lapses, the keeper notifies its
/// members: the lock nodes that have not ended. A waiting contender needs no lease until it is
/// first in the queue. If the lease is too short then, the contender checks its znode before the
/// grant, and the answer extends the lease or begins one.
///
/// | event              | effect (T: the session timeout)                                       |
/// |--------------------|-----------------------------------------------------------------------|
/// | connected          | the evidence restarts; a heartbeat. If the session has reconnected,   |
/// |                    | its lease ends no later than handshake_lease_expiry(), and the        |
/// |                    | members are notified                                                  |
/// | answered by quorum | the lease is extended; if it lapsed, or there is none, a new lease    |
/// |                    | begins                                                                |
/// | tick               | the request that is due is sent: see below; the members are notified  |
/// | lease's end        | it lapses; the members are notified                                   |
/// | suspended          | no requests; the lease runs on to its end; the members are notified   |
/// | ended              | the lease lapses; the members are notified                            |
///
/// A request is due a certain time after the keeper's last request, or after another request that
/// the leader or the quorum has answered. The table gives that time. The first row that applies
/// decides:
///
/// | when                                                                         | after       |
/// |------------------------------------------------------------------------------|-------------|
/// | less than T/3 of the lease is left, and it was needed recently (1)           | T/20        |
/// | a lock node is granted: held or idle                                         | T/10        |
/// | in the last T, an answer took longer than T/24                               | T/10        |
/// | otherwise                                                                    | 7T/24       |
///
/// (1) In the last T/2 a hold began or on_lease_needed() was called. The end of the last hold
/// resets this.
///
/// The request is a heartbeat if less than 11T/24 of the lease are left and a lock node is granted.
/// Otherwise it is a sync.
///
/// Pings of the C client, after T/3 without a request, are no evidence: zklock does not learn when
/// they are sent. Syncs every 7T/24 keep the gaps short. So the answer to a contender's create or
/// check makes the lease suffice for a grant; see lease_for_grant(). From the grant on, requests
/// every T/20 extend it in time. That holds for round trips of up to T/16, even if they become that
/// long only at the grant; see slow_network_test.cpp.
///
/// Ticks come every T/20, and each sends what is due within T/40. While the interval is 7T/24, a
/// tick comes only when a request is due, to wake no thread in between.
///
/// The members are the lock nodes that have not ended, including idle and abandoned ones. Each
/// event goes to them in the order of enlist(). There can be thousands, so after each kSlice of
/// them the engine mutex is released for a moment. Events do not overtake each other. A member that
/// is added meanwhile may get an event that began before.
///
/// Thread-safety: any thread may call is_connected(), connection(), session(), reason_of_lapse()
/// and timeout(). stop() and the functions for the events of the coordinator enter the engine. When
/// they return, all members are notified. REQUIRES for all others: the engine mutex is held. Part
/// of its EngineContext.
class LeaseKeeper {
 public:
  explicit LeaseKeeper(EngineContext& context) : context_(context) {}
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // Called for the events of the coordinator.
  void on_connected(const client::SessionInfo& session);
  void on_suspended(SessionId session);
  void on_ended(SessionId session);
  void on_answered(SessionId session, Instant sent_at, core::AnsweredBy by);
  /// Ends the heartbeats and the ticks, and makes the lease lapse. Called when the client closes.
  void stop();

  /// Adds a member. REQUIRES: dismiss() is called before its destructor ends.
  void enlist(LeaseObserver& member) noexcept;
  /// Removes a member. Does nothing if it is not enlisted.
  void dismiss(LeaseObserver& member) noexcept;
  /// Returns whether there is a member.
  bool is_used() const noexcept { return !members_.empty(); }
  /// Counts a held lock node until hold_ended(). Calls on_lease_needed().
  void hold_began();
  void hold_ended() noexcept;

  /// Returns the lease for a grant on `session` now; null if it does not suffice. It suffices if it
  /// is valid for 7T/24 more. After a gap of T/2 in the answers, it must also reach full_again_at_,
  /// because the first answers extend it only a little.
  std::shared_ptr<core::Lease> lease_for_grant(SessionId session) const;
  /// Called when a contender needs a lease for its grant, or a hold begins. Makes requests due
  /// every T/20 for T/2, while less than T/3 of the lease is left. If the next tick is postponed
  /// until a request is due, it comes within `wait` instead.
  void on_lease_needed(core::Duration wait = {});
  /// Returns whether the leader has answered a request that was sent at most T/2 ago.
  bool has_contact() const;
  /// Returns when the first quorum operation of the current or last connection was sent that got an
  /// answer; Instant::max() until then. A request sent at or after this time shows a state at least
  /// as new as the beginning of the connection.
  Instant up_to_date_since() const noexcept { return up_to_date_since_; }

  bool is_connected() const noexcept { return connected_.load(std::memory_order_relaxed); }
  /// Returns the number of connections so far, which identifies the current or last one.
  std::uint64_t connection() const noexcept { return connections_.load(); }
  SessionId session() const noexcept { return SessionId{session_id_.load()}; }
  /// Returns why a lease of `session` has lapsed: the lease has ended, or the session has.
  LossReason reason_of_lapse(SessionId session) const noexcept {
    return this->session() == session ? LossReason::lease_expired : LossReason::session_expired;
  }
  /// Returns the shortest session timeout that a server granted to the session. A reconnect can
  /// change the timeout, and a new leader at first applies that of the session's creation. So only
  /// the shortest one is safe.
  core::Duration timeout() const noexcept { return core::Duration(timeout_.load()); }

  /// Returns how much of the lease is left. Returns std::nullopt if no lock node is granted.
  std::optional<core::Duration> lease_remaining() const;
  /// Returns how many heartbeats and syncs got no answer.
  std::uint64_t heartbeat_failures() const noexcept { return heartbeat_failures_; }
  /// Returns how often an answer of the quorum found less than T/4 of the lease left, while a lock
  /// node was held. Successive such answers count once.
  std::uint64_t low_leases() const noexcept { return low_leases_; }

 private:
  using LeasePtr = std::shared_ptr<core::Lease>;
  /// The number of members that are notified before the engine mutex is released.
  static constexpr int kSlice = 64;

  Instant now() const noexcept;
  /// Returns how much of the lease is left.
  core::Duration lease_left(Instant now) const;
  /// Returns the time from the last request for the leader to the next.
  core::Duration interval(Instant now) const;
  void tick(SessionId session);
  /// Schedules the next tick. Without `wait`, it comes when the next request is due if interval()
  /// is 7T/24, otherwise after T/20.
  void schedule_tick(std::optional<core::Duration> wait = {});
  void end_ticks() noexcept;
  /// If the next tick is postponed until a request is due, schedules it within `wait` instead.
  void hurry(core::Duration wait);
  void send(client::Operation operation);
  void watch_lease(const LeasePtr& lease);
  void on_lease_due(const LeasePtr& lease);
  /// Makes the lease lapse, and queues the event for the members.
  void lapse(const LeasePtr& lease);
  /// Returns a callback that calls `step(arguments...)` with the engine mutex held, while the
  /// client exists.
  template <class Step>
  auto under_lock(Step step);
  /// Adds an event, which deliver() passes to the members.
  void notify(LeaseEvent event);
  /// Passes the events to the members. REQUIRES: the engine mutex is not held.
  void deliver();
  /// Passes the first event to the next members. Returns false if no event is left.
  bool deliver_slice();
  void assert_invariants() const;

  EngineContext& context_;

  std::atomic<bool> connected_{false};
  std::atomic<std::uint64_t> connections_{0};
  std::atomic<std::int64_t> session_id_{0};
  std::atomic<core::Duration::rep> timeout_{0};

  bool stopped_ = false;
  /// Evidence of the connection; std::nullopt without one.
  std::optional<core::LeaseEvidence> evidence_;
  LeasePtr lease_;              ///< of the session; may have lapsed
  bool lease_was_low_ = false;  ///< at the quorum's last answer
  int holds_ = 0;               ///< lock nodes that are granted
  /// T/2 after a hold began, or on_lease_needed(). Reset by the end of the last hold.
  Instant needed_until_{};
  /// The sending time of the last request that the leader had to answer: one of the keeper, or any
  /// other answered one. Reads do not count, because they show no pause of the leader.
  Instant last_leader_request_{};
  /// The sending time of the last request that the leader has answered.
  Instant last_leader_answer_{};
  Instant last_answered_{};  ///< of the last answered request, reads included
  Instant slow_until_{};     ///< T after an answer that came late
  /// The time from which answers extend the lease fully again. Set after a gap of more than T/2 in
  /// the answers.
  Instant full_again_at_{};
  Instant up_to_date_since_ = Instant::max();
  client::TimerId tick_timer_{};
  Instant tick_at_{};               ///< when tick_timer_ is due
  bool tick_is_postponed_ = false;  ///< until a request is due
  std::uint64_t ticks_ = 0;         ///< so far
  std::uint64_t heartbeat_failures_ = 0;
  std::uint64_t low_leases_ = 0;

  using MemberHook =
      boost::intrusive::member_hook<LeaseObserver, boost::intrusive::list_member_hook<>,
                                    &LeaseObserver::hook_>;
  using Members = boost::intrusive::list<LeaseObserver, MemberHook>;
  Members members_;
  std::deque<LeaseEvent> events_;  ///< being delivered, the oldest first
  /// The next member that gets the first event. Unused without an event.
  Members::iterator next_ = members_.end();
};

}  // namespace zklock::detail
