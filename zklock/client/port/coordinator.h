// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "zklock/client/port/reply.h"
#include "zklock/core/session.h"
#include "zklock/core/status.h"
#include "zklock/metrics.h"

namespace zklock::client {

using core::AnsweredBy;

/// The requests of the lock protocol. Paths are absolute, below the chroot.
namespace request {

/// Sends create2 (ephemeral, sequential). Reply: name, token, created_ms, session. If `counts` is
/// set, sends exists of the parent directly after it. The reply then comes with the later of the
/// two replies, and also has `parent`.
///
/// If `makes_path` is set, sends a create of the parent, as a container, directly before create2.
/// Its result changes only path_existed in the reply. If an ancestor is missing, both creates fail
/// with no_node. REQUIRES: with `makes_path`, the parent is not "/".
struct CreateContender {
  std::string parent;
  std::string prefix;  ///< such as "lock-"
  std::string data;
  bool counts = false;
  bool makes_path = false;
};
/// Sends exists. Reply: all members of a Get reply except data. Newer servers (ZOOKEEPER-2590:
/// 3.8.4 and later of 3.8, 3.9.2 and later) require READ permission. They refuse (no_auth) only an
/// existing znode.
struct CountChildren {
  std::string path;
};
/// Creates `path` and its missing ancestors as containers. Reply: ok if all of them exist now, also
/// if nothing was missing. no_node if the chroot does not exist, and is not to be created.
struct CreateParents {
  std::string path;
};
/// Sends getChildren2. Reply: children, and all members of a Get reply except data.
struct ListChildren {
  std::string path;
};
/// Sends getData. Reply: data, token (czxid), created_ms, ephemeral_owner, version, child_count,
/// pzxid, data_length, next_sequence.
struct Get {
  std::string path;
};
enum class WatchEvent {
  created,   ///< the znode was created
  changed,   ///< its data was set
  children,  ///< a child was created or deleted
  deleted,   ///< the znode was deleted
};
/// The handler of a watch event. GetAndWatch, ListAndWatch and ExistsAndWatch register it. If the
/// reply arms the watch, the handler is called at most once, and only after the reply's handler
/// has returned. Any other reply registers nothing. REQUIRES: the handler is not empty:
/// implementations use an empty one for a cancelled watch.
using OnWatchEvent = std::function<void(SessionId, WatchEvent)>;

/// Sends getData with a watch. The reply has the members of a Get reply. If the status is `ok`, the
/// watch is armed for the events `changed` and `deleted`. If the client has no READ permission, it
/// watches the znode by an exists instead. The reply then has `unreadable` set, and no data. If the
/// servers refuse the exists too, the status is `ok` nevertheless, without a stat (see
/// Reply::is_without_stat()). Then no server has a watch: the client checks each second whether the
/// znode exists, and reports only `deleted`.
struct GetAndWatch {
  std::string path;
  OnWatchEvent on_event;
};
/// Sends getChildren2 with a watch. The reply has the members of a ListChildren reply. If the
/// status is `ok`, the watch is armed for `children` and `deleted`.
struct ListAndWatch {
  std::string path;
  OnWatchEvent on_event;
};
/// Sends exists with a watch. The reply has all members of a Get reply except data. The status `ok`
/// arms the watch for `changed` and `deleted`, the status `no_node` for `created`. But some servers
/// send no events of a znode on which the client has no READ permission. If they refuse the exists,
/// the status is `ok` as for a GetAndWatch without a stat, and `unreadable` is set.
struct ExistsAndWatch {
  std::string path;
  OnWatchEvent on_event;
};
/// Sends multi{check(path, any version)}, a quorum operation that changes nothing. Both ok (the
/// znode exists) and no_node (it does not) prove contact with the quorum.
struct Check {
  std::string path;
};
/// Sends sync, which the leader answers without a majority. It is not written to the servers'
/// transaction logs. Reply: only the status.
struct Sync {
  std::string path;
};
/// Sends delete, with any version.
struct Delete {
  std::string path;
};
/// Sends multi{setData(path, "released"), delete(path)}. The setData notifies the watching
/// contender that the holder has released.
struct AnnounceAndDelete {
  std::string path;
};

/// The operations of a transaction. `version` is the required data version; -1: any.
namespace write {

/// Creates a znode. An ephemeral znode belongs to the session on which the transaction is sent.
struct Create {
  std::string path;
  std::string data = {};
  bool ephemeral = false;
  /// If true, the znode has the ACL of lock znodes, otherwise the ACL of parents.
  bool contender = false;
  /// If true, the servers append a sequence number to the path, and the reply has the name.
  /// REQUIRES: at most one operation of the transaction is sequential.
  bool sequential = false;
  /// If true, the transaction is refused if the session's ephemeral znodes would have more than
  /// half of ClientOptions::max_node_bytes. So such znodes leave room for lock znodes.
  bool is_optional = false;
};
struct Set {
  std::string path;
  std::string data = {};
  std::int32_t version = -1;
};
struct Remove {
  std::string path;
  std::int32_t version = -1;
};
struct CheckVersion {
  std::string path;
  std::int32_t version = -1;
};

}  // namespace write
using Write = std::variant<write::Create, write::Set, write::Remove, write::CheckVersion>;

/// Sends multi{check(guard, any version), writes...}: all operations or none are executed. An empty
/// `guard` adds no check. If an operation fails, the reply has the status of the first that failed,
/// and failed_operation has its index. The replies session_ended, auth_failed and closed do not say
/// whether a transaction that was sent has been executed. Its writes can outlive the session,
/// except ephemeral znodes. REQUIRES: a guard or at least one write.
struct Transaction {
  std::string guard;
  std::vector<Write> writes;
};

}  // namespace request

using Operation =
    std::variant<request::CreateContender, request::CountChildren, request::CreateParents,
                 request::ListChildren, request::Get, request::GetAndWatch, request::Check,
                 request::Delete, request::AnnounceAndDelete, request::ListAndWatch,
                 request::ExistsAndWatch, request::Transaction, request::Sync>;

/// A request and the conditions of sending it.
struct Request {
  Operation operation;
  /// The session on which the request may be executed. If it is not the current session, the
  /// request is not sent, and its reply is session_ended. The value 0 means any session:
  /// the one that is current when the request is sent.
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
  /// the requests that were bound to the session. `why` is one of:
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
  /// member except close(). A request that is not bound to a session waits for a connection for at
  /// most ClientOptions::connection_timeout. Then its reply is not_connected.
  /// Throws std::bad_alloc; then nothing was submitted. But if memory runs out while a queued
  /// request is sent, or in a thread of the coordinator, the process terminates.
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
