// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/threads/local_reply_thread.h"
#include "zklock/client/threads/session_thread.h"
#include "zklock/client/zookeeper/acl.h"
#include "zklock/client/zookeeper/call.h"
#include "zklock/client/zookeeper/connection_string.h"
#include "zklock/client/zookeeper/log_bridge.h"
#include "zklock/client/zookeeper/node_budget.h"
#include "zklock/client/zookeeper/watch_registry.h"
#include "zklock/client/zookeeper/zk_handle.h"
#include "zklock/client_options.h"

namespace zklock::client {

/// The coordinator on the ZooKeeper C client.
///
/// | phase      | handle | submitted requests                | left by                         |
/// |------------|--------|-----------------------------------|---------------------------------|
/// | none       | no     | queued                            | open() -> connecting            |
/// | connecting | yes    | queued                            | connected event -> greeting     |
/// | greeting   | yes    | queued; the observer is notified  | -> connected                    |
/// | connected  | yes    | sent, at most max_in_flight       | connection lost -> suspended    |
/// | suspended  | yes    | queued                            | connected event -> greeting;    |
/// |            |        |                                   | timeout T passed -> dead        |
/// | dead       | yes    | queued; those bound to the dead   | shut() -> none                  |
/// |            |        | session are answered              |                                 |
///
/// Session expiry, a refused credential and close() lead from every phase with a handle to dead.
///
/// If T passes without a connection, the client ends the session, although it may still be alive on
/// the servers. Servers that were emptied or restored from a backup never report the expiry: they
/// refuse every handle that has seen a later zxid than theirs. They accept only a new handle, which
/// has seen none.
///
/// Four threads take part. The session thread opens and closes handles. The C client's completion
/// thread delivers events and replies. The local-reply thread delivers the replies that need no
/// server. The C client's I/O thread runs none of this code. Requests reach the wire in the order
/// of submission, because each is passed to the C client under mutex_.
class ZkCoordinator final : public Coordinator,
                            private CompletionSink,
                            private ZkHandle::Listener,
                            private SessionThread::Host {
 public:
  explicit ZkCoordinator(const ClientOptions& options);
  ~ZkCoordinator() override;

  void start(SessionObserver& observer) override;
  RequestId submit(Request request, ReplyHandler handler) override;
  void soon(std::function<void()> task) override;
  bool abandon(RequestId request) noexcept override;
  void unwatch(RequestId request) noexcept override;
  void close() override;
  bool runs_here() const noexcept override;
  std::string trouble() const override;

 private:
  // While an object exists, its thread is the C client's completion thread in a callback of
  // `owner`.
  class CompletionScope {
   public:
    explicit CompletionScope(const ZkCoordinator& owner) noexcept
        : outer_(std::exchange(current_, &owner)) {}
    ~CompletionScope() { current_ = outer_; }
    CompletionScope(const CompletionScope&) = delete;
    CompletionScope& operator=(const CompletionScope&) = delete;
    static bool runs_here(const ZkCoordinator& owner) noexcept { return current_ == &owner; }

   private:
    static thread_local const ZkCoordinator* current_;
    const ZkCoordinator* const outer_;
  };

  enum class Phase { none, connecting, greeting, connected, suspended, dead };
  using CallPtr = std::shared_ptr<Call>;
  // Ordered by submission, and so by id. A map would take more memory for thousands of calls.
  using Queue = std::deque<CallPtr>;

  // Called on the session thread.
  bool open() override;
  void shut() override;

  // Called on the completion thread.
  void on_session_event(int state) override;
  void on_watch_event(int type, const std::string& path) override;
  void completed(Ticket ticket, const Completion& completion) override;
  void on_connected();
  void on_suspended();
  void on_ended(Status why);
  // Marks the session as dead, notifies the observer and retires the handle.
  // REQUIRES: `lock` owns mutex_, which is released; the phase is not dead.
  void end_session(std::unique_lock<std::mutex> lock, Status why, const std::string& cause);
  void deliver_watch_event(const std::string& path, request::WatchEvent event);

  // Called on the local-reply thread. Answers the requests that have waited too long for a
  // connection, and checks the znodes whose events the servers may withhold. Returns when it must
  // be called again.
  std::optional<Instant> do_what_is_due();
  // Called on the local-reply thread. Ends the session if T has passed without a connection.
  void end_overdue_session();

  // REQUIRES, for each member up to session_due(): mutex_ is held.

  // Sends queued calls while may_send(). Without memory, the process terminates.
  void pump() noexcept;
  bool may_send() const noexcept {
    return phase_ == Phase::connected && flights_.size() < options_.max_in_flight;
  }
  // Sends a call. Returns false, without effect, if the connection is lost. Throws std::bad_alloc;
  // then the call gets no reply.
  bool send(const CallPtr& call);
  void enqueue(CallPtr call);  // queues a call of the client itself
  Queue::iterator find_queued(RequestId request);
  // Queues the removal of the watches at the servers, and calls pump().
  void remove(std::span<const Watch> watches);
  void refuse_at_once_calls();
  RequestId next_id() { return RequestId{++last_id_}; }
  Origin own_origin() { return {next_id(), session_, nullptr, LeaseClock::now()}; }
  Wire wire(FollowUps& follow_ups, Reply& reply);
  std::optional<Instant> check_presence(Instant now);
  void answer(const CallPtr& call, Status status, std::string detail);
  static bool all(const Call& /*queued*/) noexcept { return true; }
  template <typename Which>
  void answer_queued(Which which, Status status, const std::string& detail) {
    for (const CallPtr& call : queued_) {
      if (which(*call)) answer(call, status, detail);
    }
    std::erase_if(queued_, [&which](const CallPtr& call) { return which(*call); });
  }
  void correct_status(Status& status) const;
  void drain(std::unique_lock<std::mutex>& lock);
  void answer_calls_of(SessionId session, Status status);
  std::string trouble_text() const;
  bool ready() const noexcept { return phase_ == Phase::connected; }
  // Returns when the call's wait for a connection ends.
  Instant due(const Call& call) const;
  // Returns when the client ends the session, unless it reconnects before. REQUIRES: the phase is
  // suspended.
  Instant session_due() const { return disconnected_since_ + timeout_; }

  // Both call the observer, never concurrently, and never for a session that ended() has reported.
  // REQUIRES: mutex_ is not held.
  template <typename Notify>
  void notify_observer(SessionId session, Notify&& notify);
  void notify_ended(SessionId session, Status why);

  void log_info(const std::string& text) const;
  void log_warn(const std::string& text) const;

  const ClientOptions options_;
  const ConnectionString hosts_;
  const std::vector<DigestCredential> credentials_;  // zklock's own, and the user's
  const Acl node_acl_;
  const Acl parent_acl_;
  const LogBridge log_bridge_;

  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::condition_variable drained_;
  // Guarded by mutex_:
  Phase phase_ = Phase::none;
  std::unique_ptr<ZkHandle> handle_;
  SessionId session_;           // 0 before the handle's first connection
  core::Duration timeout_;      // T: as requested; since the first connection, as negotiated last
  Instant connected_since_;     // the session's first connection
  Instant disconnected_since_;  // the last loss of the connection, or start()
  Instant attempt_began_;       // not later than the next handshake is sent
  Instant last_contact_;        // not later than the servers last heard of the session
  Queue queued_;
  Flights flights_;
  WatchRegistry watches_;
  NodeBudget nodes_;
  std::uint64_t last_id_ = 0;
  std::string open_error_;  // why there is no handle
  bool refused_ = false;    // the servers refused a credential: no further session
  bool closing_ = false;
  bool withholds_replies_ = false;  // completed calls are collected in withheld_, for shut()
  std::map<RequestId, CallPtr> withheld_;
  Instant next_presence_check_;

  std::mutex observer_mutex_;
  // Guarded by observer_mutex_:
  SessionObserver* observer_ = nullptr;
  SessionId ended_session_;

  LocalReplyThread answers_;
  SessionThread session_thread_;
};

}  // namespace zklock::client
