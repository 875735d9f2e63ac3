// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "zklock/client/coordinator.h"
#include "zklock/client/scheduler.h"
#include "zklock/core/lease_evidence.h"
#include "zklock/core/lease_term.h"

namespace zklock::recipes {

using core::Instant;
using core::SessionId;

/// A contender, as its session's keeper sees it. Called with no lock held, but for alive().
class SessionMember {
 public:
  virtual ~SessionMember() = default;
  /// Null once its destruction has begun.
  virtual std::shared_ptr<SessionMember> alive() noexcept = 0;
  /// The session has ended, and its nodes with it.
  virtual void session_ended(SessionId session) = 0;
  /// The term has lapsed: whoever was granted within it holds no longer.
  virtual void term_lapsed(const std::shared_ptr<core::LeaseTerm>& term) = 0;
  /// The connection broke; or is back, with the same session.
  virtual void suspended(SessionId session) = 0;
  virtual void resumed(SessionId session) = 0;
  /// Called at the keeper's tick, so that contenders which stay get their own node watched. `requests`
  /// is how many may still be sent at this tick by those who only wait: it takes away its own.
  virtual void tick(int& requests) = 0;

 private:
  friend class SessionKeeper;
  boost::intrusive::list_member_hook<> place_in_line_;  ///< guarded by the keeper
};

/// Keeps the current session's lease: sends the heartbeats while anybody holds or waits, and asks
/// for something small while nobody does, as evidence for the next; extends the term with every
/// answer of the quorum, and tells the members in time when it lapses.
///
/// | event              | effect                                                              |
/// |--------------------|---------------------------------------------------------------------|
/// | connected          | evidence starts anew; the term of a living session goes on, but ends |
/// |                    | no later than the handshake's timeout allows; its members are told   |
/// | answered by quorum | the term is extended; if it had lapsed, or there is none, a new one |
/// | tick, every T/20   | with members: a heartbeat every T/10; without: a question every T/5 |
/// | term's end         | it lapses; its members are told                                     |
/// | suspended          | no heartbeats; the term runs on to its end; its members are told    |
/// | ended              | the term lapses; its members are told                               |
///
/// Thread-safety: all members, from any thread. To be made by std::make_shared. The ports must
/// outlive stop().
class SessionKeeper : public std::enable_shared_from_this<SessionKeeper> {
 public:
  SessionKeeper(client::Coordinator& coordinator, client::Scheduler& scheduler);
  SessionKeeper(const SessionKeeper&) = delete;
  SessionKeeper& operator=(const SessionKeeper&) = delete;

  /// Events of the coordinator.
  void connected(const client::SessionInfo& session);
  void suspended(SessionId session);
  void ended(SessionId session);
  void answered(SessionId session, Instant sent_at, bool by_quorum);

  /// Members are told of what happens, in the order in which they came, and keep the heartbeats
  /// going. Their destructors dismiss them.
  void enlist(SessionMember& member) noexcept;
  /// Nothing when it is not enlisted.
  void dismiss(SessionMember& member) noexcept;
  /// Whether nobody is enlisted.
  bool deserted() const;

  /// The term in which a grant of `session` may be made now; null when the lease is not valid.
  std::shared_ptr<core::LeaseTerm> valid_term(SessionId session);

  bool is_connected() const noexcept { return connected_.load(std::memory_order_relaxed); }
  /// How many there have been, with this one.
  std::uint64_t connection() const noexcept { return connections_.load(); }
  SessionId session() const noexcept { return SessionId{session_id_.load()}; }
  core::Duration timeout() const noexcept { return core::Duration(timeout_.load()); }

  /// No more timers or heartbeats. The term lapses.
  void stop();

 private:
  using Members = std::vector<std::shared_ptr<SessionMember>>;
  using Term = std::shared_ptr<core::LeaseTerm>;

  void tick(SessionId session);
  void schedule_tick(SessionId session);
  void send(client::Operation operation, SessionId session, Instant now);
  void watch_term(const Term& term);
  void term_due(const Term& term);
  void tell_lapsed(const Term& term);
  Members members() const;

  client::Coordinator& coordinator_;
  client::Scheduler& scheduler_;

  std::atomic<bool> connected_{false};
  std::atomic<std::uint64_t> connections_{0};
  std::atomic<std::int64_t> session_id_{0};
  std::atomic<core::Duration::rep> timeout_{0};

  mutable std::mutex mutex_;
  // guarded by mutex_
  bool stopped_ = false;
  std::optional<core::LeaseEvidence> evidence_;  ///< of the connection; none while suspended
  Term term_;                                    ///< of the session; may have lapsed
  /// The shortest session timeout that a server granted to the session. A new leader times a session by
  /// the one that it was created with, until a server relays a packet of it.
  core::Duration shortest_timeout_{};
  Instant last_sent_{};
  client::TimerId tick_timer_{};
  using Line = boost::intrusive::member_hook<SessionMember, boost::intrusive::list_member_hook<>,
                                             &SessionMember::place_in_line_>;
  mutable boost::intrusive::list<SessionMember, Line> members_;
};

}  // namespace zklock::recipes
