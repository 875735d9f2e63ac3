// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "zklock/client/port/reply.h"
#include "zklock/client/port/request.h"
#include "zklock/core/session.h"
#include "zklock/core/status.h"
#include "zklock/metrics.h"

namespace zklock::client {

using core::AnsweredBy;

/// A request and the conditions of sending it.
struct Request {
  Operation operation;
  /// The session on which the request may be executed. If it is not the current session, the
  /// request is not sent, and its reply is session_ended. The value 0 names no session: the request
  /// is sent on the session that is current then.
  SessionId session = {};
  /// If true, the request does not wait for a connection. If there is none, the request is not
  /// sent, and its reply is not_sent.
  bool fail_if_disconnected = false;
  /// The start of the request's wait for a connection. Not set: the time of submit().
  Instant wanted_since = {};
};

/// Identifies a pending request or a watch. 0: none.
enum class RequestId : std::uint64_t {};

/// A connected session, as passed to SessionObserver::on_connected().
struct SessionInfo {
  SessionId id;
  core::Duration timeout{};  ///< the negotiated session timeout T
  Instant attempt_began;     ///< lower bound of the handshake's sending time
  bool is_new = false;       ///< first connection of this session
};

/// Receives the events of the coordinator's sessions, in order and never concurrently, except for
/// on_answered(). An implementation may call the members of the coordinator, but not start() or
/// close(). It does not block and runs no user code, because the calling threads must not be
/// blocked.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  /// The session is connected. Called before any request is sent over the connection.
  virtual void on_connected(const SessionInfo& session) = 0;
  /// The connection is lost. Called before the requests that were lost with the connection are
  /// answered with Status::unknown.
  virtual void on_suspended(SessionId session) = 0;
  /// The session has ended, and its watches with it, without events. Called before the replies to
  /// the requests that named the session. `why` is one of:
  /// - session_ended: the session expired, or the client ended it after T without a connection. In
  ///   the second case the servers may retain its znodes until they expire it. They may also still
  ///   execute requests sent before.
  /// - auth_failed: the servers refused a credential; no further session follows. `session` is 0 if
  ///   the client was refused before it had a session.
  /// - closed: close() ended the session.
  virtual void on_ended(SessionId session, Status why) = 0;
  /// The servers have answered a request, or one of its sub-requests. Called before the reply is
  /// passed to the handler. Not called for requests that failed without an answer (for example
  /// unknown, session_ended), or that the client itself refused. If a request has several
  /// sub-requests, a read is reported only if it is the first of them. A read that was sent
  /// together with the first proves no later contact. `sent_at`: a lower bound of the sending time.
  /// If several sub-requests are sent together, it is a time before the first of them was sent.
  /// `by` is quorum for a create, multi or delete that was executed, or that failed because of the
  /// tree (no_node, node_exists, quota_exceeded, ...). It is leader for a sync. It is server for
  /// reads, and for refusals that a single server can make. Such refusals have the status
  /// `throttled` or `read_only`; outside a multi also `no_auth` or `invalid_acl`. While another
  /// thread reports the end of the session, the call can come a moment after on_ended().
  virtual void on_answered(SessionId session, Instant sent_at, AnsweredBy by) = 0;
};

/// Numbers about the connection, for Client::metrics().
struct CoordinatorStats {
  std::size_t node_bytes = 0;
  std::size_t node_limit_bytes = 0;
  std::size_t watch_bytes = 0;
  std::size_t watch_limit_bytes = 0;
  /// Durations of the answered requests, by the index of the alternative of Operation.
  std::array<DurationHistogram, std::variant_size_v<Operation>> requests{};
};

/// The only path of I/O between the lock protocol and ZooKeeper. Tests replace it by a simulated
/// ensemble.
///
/// It owns the connection. It reconnects, opens a new session when the old one has ended, and
/// queues the requests submitted meanwhile. Requests of one session are executed and answered in
/// the order of submission, with three exceptions. A request that is never sent may be answered out
/// of order. A GetAndWatch of an unreadable znode takes a second round trip and is answered after
/// requests sent meanwhile. If the connection breaks between the sub-requests of a request, the
/// last sub-request may be sent on the next connection. Then the request is answered after later
/// requests.
///
/// Thread-safety: all members, from any thread.
class Coordinator {
 public:
  /// Calls the handlers of requests submitted after close() that have no reply yet. REQUIRES: the
  /// calling thread runs no handler of a request submitted before close(). A handler of a later
  /// request may run the destructor.
  virtual ~Coordinator() = default;

  /// Starts connecting. Session events go to `observer`. REQUIRES: `observer` outlives close().
  virtual void start(SessionObserver& observer) = 0;

  /// Submits a request, which gets exactly one reply. Returns its id. `handler` is called with no
  /// lock held, never from within submit(), on a thread that must not be blocked. It may call any
  /// member except close(). A request that names no session waits for a connection for at
  /// most ClientOptions::connection_timeout. Then its reply is not_connected.
  /// If memory runs out, the process terminates.
  virtual RequestId submit(Request request, ReplyHandler handler) = 0;

  /// Cancels a request that has not been sent yet. Returns true if the request was cancelled: it
  /// will never be sent, and its reply is not_sent, soon. Returns false, without effect, if the
  /// request was sent.
  virtual bool cancel_unsent(RequestId request) noexcept = 0;

  /// Cancels the watch of one request, whether or not the request has been answered. `on_event`
  /// will not be called any more; a call that has begun may still be running. The servers' watch is
  /// removed when no other request needs it.
  virtual void unwatch(RequestId request) noexcept = 0;

  /// Ends the session and answers all pending requests with `closed`. Blocks until no handler is
  /// running. Requests submitted after close() are also answered `closed`. A further close() blocks
  /// until their handlers have returned. REQUIRES: the calling thread runs no handler.
  virtual void close() = 0;

  /// Returns whether close() would wait for the calling thread. That is so in a handler, a watch
  /// event and an event of the observer. The default returns false. It is right for an
  /// implementation whose close() waits for no thread.
  virtual bool is_own_thread() const noexcept { return false; }

  /// See Client::set_hosts(). The default has no servers, and ignores the call.
  /// Throws Error(invalid_hosts).
  virtual void set_hosts(const std::string& /*hosts*/) {}

  /// Returns, in words for error texts, what prevents a connection.
  virtual std::string connection_problem() const = 0;

  /// Returns the numbers so far. The default has none.
  virtual CoordinatorStats stats() const { return {}; }
};

}  // namespace zklock::client
