// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/log.h"
#include "zklock/client/port/mutex.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/client/threads/owned_thread.h"
#include "zklock/client/threads/timer_thread.h"
#include "zklock/client/zookeeper/acl.h"
#include "zklock/client/zookeeper/call.h"
#include "zklock/client/zookeeper/connection_string.h"
#include "zklock/client/zookeeper/node_budget.h"
#include "zklock/client/zookeeper/quirks/log_bridge.h"
#include "zklock/client/zookeeper/watch_registry.h"
#include "zklock/client/zookeeper/zk_handle.h"
#include "zklock/client_options.h"
#include "zklock/core/atomic_histogram.h"

namespace zklock::client {

class Backoff;

/// The coordinator on the ZooKeeper C client.
///
/// | phase      | handle | submitted requests                     | left by                       |
/// |------------|--------|----------------------------------------|-------------------------------|
/// | none       | no     | queued; after a refused credential     | open() -> connecting          |
/// |            |        | answered auth_failed                   |                               |
/// | connecting | yes    | queued                                 | connected event -> notifying  |
/// | notifying  | yes    | queued; the observer is notified       | -> connected                  |
/// | connected  | yes    | sent, at most max_in_flight            | connection lost -> suspended  |
/// | suspended  | yes    | queued                                 | connected event -> notifying; |
/// |            |        |                                        | timeout T passed -> dead      |
/// | dead       | yes    | queued; shut() answers those that name | shut() -> none                |
/// |            |        | the dead session                       |                               |
///
/// Session expiry, a refused credential and close() lead from every phase with a handle to dead. An
/// answer in another protocol leads from connecting to dead. No handle is opened after a refused
/// credential.
///
/// T is the negotiated session timeout. If it passes without a connection, the client ends the
/// session, although it may still be alive on the servers. Servers that were emptied or restored
/// from a backup never report the expiry: they refuse every handle that has seen a later zxid than
/// theirs. They accept only a new handle, which has seen none.
///
/// With TLS, a handle that has not connected within the requested session timeout is dead too. Its
/// close can hang, so the session thread waits for it only for a limited time.
///
/// set_hosts() only stores the new list. The next handle begins with it. The present handle gets it
/// after a failed attempt to connect, with the names resolved again. The handle also gets the list
/// in the pause after it has tried all servers. With servers that require SASL, no attempt fails:
/// each server accepts the connection, and closes it later. So the pause is the only chance.
/// zoo_set_servers() is safe only at these times, and only on the I/O thread. During a connection,
/// it may close the socket. Then the C client delivers no event, and does not answer the requests
/// in flight. While an earlier handle's close hangs, the failed attempt can be that handle's. Then
/// the present handle does not get the list.
///
/// Besides the callers' threads, four threads run this code. The session thread opens and closes
/// handles. The C client's completion thread delivers events and replies, and its I/O thread calls
/// refresh_servers(). The local-reply thread calls do_what_is_due(), and delivers the replies that
/// need no server, such as not_connected. No other thread can deliver these replies: submit() must
/// not call handlers, and the resolver may block the session thread. Requests reach the wire in the
/// order of submission, because each is passed to the C client under mutex_.
class ZkCoordinator final : public Coordinator,
                            public std::enable_shared_from_this<ZkCoordinator>,
                            private HandleListener {
 public:
  ZkCoordinator(const ClientOptions& options, std::shared_ptr<Log> log);
  ~ZkCoordinator() override;

  void start(SessionObserver& observer) override;
  RequestId submit(Request request, ReplyHandler handler) noexcept override;
  bool cancel_unsent(RequestId request) noexcept override;
  void unwatch(RequestId request) noexcept override;
  void close() override;
  bool is_own_thread() const noexcept override;
  void set_hosts(const std::string& hosts) override;
  std::string connection_problem() const override;
  CoordinatorStats stats() const override;

 private:
  enum class Phase { none, connecting, notifying, connected, suspended, dead };
  using CallPtr = std::shared_ptr<Call>;
  using CallsById = std::map<RequestId, CallPtr>;
  // Ordered by submission, and so by id. A map would take more memory for thousands of calls.
  using Queue = std::deque<CallPtr>;

  /// A handle whose close hangs.
  struct HangingHandle {
    std::weak_ptr<const void> handle;  ///< expires when the close has ended
    /// The calls that were sent on it. They are retained until the close has ended: until then the
    /// handle's thread can write the results of their multis.
    CallsById calls = {};

    bool has_ended() const noexcept { return handle.expired(); }
  };

  // The session thread, from start() to close(). Opens a handle, and shuts it when it is retired or
  // at close(). Then pauses and opens the next one, unless the servers have refused the client.
  void run_sessions(Backoff& pauses) ZKLOCK_EXCLUDES(mutex_);
  bool open() ZKLOCK_EXCLUDES(mutex_);  // returns whether there is a handle
  // Returns null with the cause in `why` if no handle can be opened.
  std::unique_ptr<ZkHandle> open_handle(std::string& why);
  void close_handle(std::unique_ptr<ZkHandle> handle) ZKLOCK_EXCLUDES(mutex_);
  std::size_t hanging_handles() ZKLOCK_EXCLUDES(mutex_);  // their number
  void shut() ZKLOCK_EXCLUDES(mutex_);
  // Makes the session thread shut the handle. REQUIRES: the phase is dead.
  void retire() ZKLOCK_EXCLUDES(mutex_);

  // Called on the completion thread.
  void on_session_event(int state) override;
  void on_watch_event(int type, const std::string& path) override;
  void completed(PendingId id, const Completion& completion) override;
  void on_connected();
  void on_foreign_server();
  void on_suspended();
  void on_ended(Status why);
  // Marks the session as dead, and returns it. REQUIRES: the phase is not dead.
  SessionId mark_session_dead(Status why) ZKLOCK_REQUIRES(mutex_);
  // Notifies the observer and retires the handle.
  void finish_session_end(SessionId session, Status why, const std::string& cause)
      ZKLOCK_EXCLUDES(mutex_);
  void deliver_watch_event(const std::string& path, request::WatchEvent event);

  // Called on the I/O thread of the C client. Passes the present list of servers to the handle,
  // unless it is still connected.
  void refresh_servers() ZKLOCK_EXCLUDES(mutex_);
  ConnectionString present_hosts() const ZKLOCK_EXCLUDES(mutex_);

  // Called on the local-reply thread. Answers the requests that have waited too long for a
  // connection, and checks the znodes whose events the servers may withhold.
  void do_what_is_due();
  // Makes the local-reply thread call do_what_is_due() at `when` or earlier. do_what_is_due() sets
  // the next time itself.
  void check_at(Instant when) ZKLOCK_REQUIRES(mutex_);
  void check_soon() ZKLOCK_REQUIRES(mutex_) { check_at({}); }
  // Called on the local-reply thread. Ends the session if T has passed without a connection.
  void end_overdue_session();
  // Called on the local-reply thread. With TLS, replaces a handle that has not connected within the
  // requested session timeout: its C client can hang in a handshake.
  void replace_overdue_handle();

  // Sends queued calls while may_send().
  void pump() ZKLOCK_REQUIRES(mutex_);
  bool may_send() const noexcept ZKLOCK_REQUIRES(mutex_) {
    return phase_ == Phase::connected && pending_.size() < options_.max_in_flight;
  }
  // Sends a call. Returns false, without effect, if the connection is lost or the session has
  // ended.
  bool send(const CallPtr& call) ZKLOCK_REQUIRES(mutex_);
  void enqueue(CallPtr call) ZKLOCK_REQUIRES(mutex_);  // queues a call of the client itself
  Queue::iterator find_queued(RequestId request) ZKLOCK_REQUIRES(mutex_);
  void remove_watch(Watch watch) ZKLOCK_REQUIRES(mutex_);  // at the servers
  void answer_calls_that_do_not_wait() ZKLOCK_REQUIRES(mutex_);
  RequestId next_id() ZKLOCK_REQUIRES(mutex_) { return RequestId{++last_id_}; }
  CallHeader own_header() ZKLOCK_REQUIRES(mutex_) { return {next_id(), session_, {}, boot_time()}; }
  CallContext call_context(Reply& reply, std::optional<Watch>& unused_watch)
      ZKLOCK_REQUIRES(mutex_);
  // Checks whether unreadable watched znodes exist, if that is due.
  void check_presence(Instant now) ZKLOCK_REQUIRES(mutex_);
  // Fires the watch as `deleted`, after such a check has not found the znode.
  void on_absent(const Watch& watch) ZKLOCK_EXCLUDES(mutex_);
  void answer(const CallPtr& call, Status status, std::string detail) ZKLOCK_REQUIRES(mutex_);
  static bool any_call(const Call& /*queued*/) noexcept { return true; }
  template <typename Which>
  void answer_queued(Which which, Status status, const std::string& detail)
      ZKLOCK_REQUIRES(mutex_) {
    for (const CallPtr& call : queued_) {
      if (which(*call)) answer(call, status, detail);
    }
    std::erase_if(queued_, [&which](const CallPtr& call) { return which(*call); });
  }
  // The C client can report a status that is impossible in this phase. Replaces it by the correct
  // one.
  void correct_status(Status& status) const ZKLOCK_REQUIRES(mutex_);
  // Blocks until all sent requests are completed or the connection is lost, for at most 1 s.
  void drain() ZKLOCK_REQUIRES(mutex_);
  // Takes the calls that were sent and not answered, ordered by submission.
  CallsById take_sent_calls() ZKLOCK_REQUIRES(mutex_);
  std::string connection_problem_text() const ZKLOCK_REQUIRES(mutex_);
  // REQUIRES: the servers have refused the client.
  std::string refused_text() const ZKLOCK_REQUIRES(mutex_);
  bool ready() const noexcept ZKLOCK_REQUIRES(mutex_) { return phase_ == Phase::connected; }
  // Returns when the call's wait for a connection ends.
  Instant due(const Call& call) const ZKLOCK_REQUIRES(mutex_);
  // Returns when the client ends the session, unless it reconnects before. REQUIRES: the phase is
  // suspended.
  Instant session_due() const ZKLOCK_REQUIRES(mutex_) { return disconnected_since_ + timeout_; }

  // Both call the observer under observer_mutex_, but not for a session whose end it already knows.
  template <typename Notify>
  void notify_observer(SessionId session, Notify&& notify) ZKLOCK_EXCLUDES(mutex_);
  void notify_ended(SessionId session, Status why) ZKLOCK_EXCLUDES(mutex_);

  void log_info(const std::string& text) const;
  void log_warn(const std::string& text) const;

  const ClientOptions options_;
  const std::vector<DigestCredential> credentials_;  // zklock's own, and the user's
  const Acl node_acl_;
  const Acl parent_acl_;
  const std::shared_ptr<Log> log_;
  const LogBridge log_bridge_;

  mutable Mutex mutex_;
  ConnectionString hosts_ ZKLOCK_GUARDED_BY(mutex_);
  Condition changed_;  // the phase, closing_, is_retired_, or pending_ while it is drained
  Phase phase_ ZKLOCK_GUARDED_BY(mutex_) = Phase::none;
  std::unique_ptr<ZkHandle> handle_ ZKLOCK_GUARDED_BY(mutex_);
  SessionId session_ ZKLOCK_GUARDED_BY(mutex_);  // 0 before the handle's first connection
  // The session timeout: before the first connection as requested, later as negotiated last (T).
  core::Duration timeout_ ZKLOCK_GUARDED_BY(mutex_);
  Instant opened_at_ ZKLOCK_GUARDED_BY(mutex_);        // the handle
  Instant connected_since_ ZKLOCK_GUARDED_BY(mutex_);  // the session's first connection
  // The last loss of the connection, or start().
  Instant disconnected_since_ ZKLOCK_GUARDED_BY(mutex_);
  // Lower bound of the time when the next handshake is sent.
  Instant attempt_began_ ZKLOCK_GUARDED_BY(mutex_);
  // Lower bound of the time when the servers last received a packet of the session.
  Instant last_contact_ ZKLOCK_GUARDED_BY(mutex_);
  Queue queued_ ZKLOCK_GUARDED_BY(mutex_);
  PendingRequests pending_ ZKLOCK_GUARDED_BY(mutex_);
  WatchRegistry watches_ ZKLOCK_GUARDED_BY(mutex_);
  NodeBudget nodes_ ZKLOCK_GUARDED_BY(mutex_);
  std::uint64_t last_id_ ZKLOCK_GUARDED_BY(mutex_) = 0;
  // Durations of the answered requests; index: the alternative of Operation.
  std::array<core::AtomicHistogram, std::variant_size_v<Operation>> durations_{};
  // The handles whose close hangs; an expired pointer stands for one that was closed.
  std::vector<HangingHandle> hanging_ ZKLOCK_GUARDED_BY(mutex_);
  std::string open_error_ ZKLOCK_GUARDED_BY(mutex_);              // why there is no handle
  bool credential_refused_ ZKLOCK_GUARDED_BY(mutex_) = false;     // no further session
  bool other_scheme_required_ ZKLOCK_GUARDED_BY(mutex_) = false;  // refused: SASL is missing
  bool was_served_ ZKLOCK_GUARDED_BY(mutex_) = false;             // a server has executed a request
  bool is_retired_ ZKLOCK_GUARDED_BY(mutex_) = false;             // see retire()
  bool closing_ ZKLOCK_GUARDED_BY(mutex_) = false;
  // Set while shut() closes a live session. It collects the calls that are completed meanwhile, and
  // shut() answers them `closed`.
  std::optional<CallsById> withheld_ ZKLOCK_GUARDED_BY(mutex_);
  Instant next_presence_check_ ZKLOCK_GUARDED_BY(mutex_);
  Instant next_check_ ZKLOCK_GUARDED_BY(mutex_) = Instant::max();  // see check_at()
  TimerId check_timer_ ZKLOCK_GUARDED_BY(mutex_){};

  Mutex observer_mutex_;
  SessionObserver* observer_ = nullptr;  // constant from start() on
  SessionId last_ended_session_ ZKLOCK_GUARDED_BY(observer_mutex_);

  TimerThread local_replies_;
  OwnedThread session_thread_;
};

}  // namespace zklock::client
