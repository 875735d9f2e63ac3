// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "zklock/client_options.h"
#include "zklock/core/node_name.h"
#include "zklock/core/session.h"
#include "zklock/core/status.h"
#include "zklock/fencing_token.h"

namespace zklock::client {

using core::Instant;
using core::SessionId;
using core::Status;

/// The requests that the lock protocol is made of. Paths are absolute, below the chroot.
namespace request {

/// create2, ephemeral and sequential: the reply has name, token, session.
struct CreateContender {
  std::string parent;
  std::string prefix;  ///< "lock-"
  std::string data;
};
/// exists: the reply has all members of a Get reply except data. Requires no permission.
struct CountChildren {
  std::string path;
};
/// The containers from the top to `path`, where they are missing. ok also when all exist already.
/// no_node: the chroot does not exist.
struct CreateParents {
  std::string path;
};
/// get_children2: the reply has children, and all members of a Get reply except data.
struct ListChildren {
  std::string path;
};
/// get: the reply has data, token (czxid), created_ms, ephemeral_owner, version, child_count,
/// last_child, acl_version, next.
struct Get {
  std::string path;
};
/// getACL: the reply has acl, and all members of a Get reply except data. Requires READ or ADMIN on
/// the znode. Servers hide the secret part of digest ids from clients without ADMIN.
struct GetAcl {
  std::string path;
};
enum class WatchEvent {
  created,   ///< the node came to be
  changed,   ///< its data was set
  children,  ///< a child came or went
  deleted,   ///< the node went
};
using OnWatchEvent = std::function<void(SessionId, WatchEvent)>;
/// For all three that follow: after a reply that arms the watch `on_event` is called at most once,
/// and not before the reply's handler returned. Any other reply registers nothing. `on_event` is not
/// empty: that stands for one that has been cancelled.
///
/// get with a watch: as Get; ok arms it for changed and deleted. A node that the client may not read
/// is watched all the same: the reply is then `mute`, and has no data.
struct GetAndWatch {
  std::string path;
  OnWatchEvent on_event;
};
/// get_children with a watch: as ListChildren; ok arms it for children and deleted.
struct ListAndWatch {
  std::string path;
  OnWatchEvent on_event;
};
/// exists with a watch: as Get but for the data. ok arms it for changed and deleted, no_node for
/// created. It needs no leave to read the node; but the events of a node that the client may not
/// read do not come from every server.
struct ExistsAndWatch {
  std::string path;
  OnWatchEvent on_event;
};
/// multi[check(path, any version)]: a quorum operation that changes nothing. Whether the node
/// exists (ok) or not (no_node), the answer proves contact with the quorum.
struct Check {
  std::string path;
};
/// delete, any version.
struct Delete {
  std::string path;
};
/// multi{setData(path, "released"), delete(path)}: tells the watcher that the holder let go.
struct AnnounceAndDelete {
  std::string path;
};

/// What a transaction does. A version is that of the node's data; -1: any.
namespace write {

/// An ephemeral one is of the session that sends.
struct Create {
  std::string path;
  std::string data = {};
  bool ephemeral = false;
  bool contender = false;  ///< with the ACL that CreateContender gives; else with that of parents
  /// The servers put a number behind the path, as of a CreateContender, and the reply has the name.
  /// One in a transaction.
  bool sequential = false;
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

/// multi{check(guard, any version), writes...}, all or nothing; an empty guard is none, but
/// something there must be. Where an operation failed, the reply's status is that of the first that
/// did, and failed_operation says which. What it wrote may outlive the session: session_ended,
/// auth_failed and closed do not tell whether one that was sent has been carried out.
struct Transaction {
  std::string guard;
  std::vector<Write> writes;
};

}  // namespace request

using Operation =
    std::variant<request::CreateContender, request::CountChildren, request::CreateParents,
                 request::ListChildren, request::Get, request::GetAndWatch, request::Check,
                 request::Delete, request::AnnounceAndDelete, request::ListAndWatch,
                 request::ExistsAndWatch, request::Transaction, request::GetAcl>;

/// One request. With `session` set it is carried out on that session or not at all
/// (session_ended); else on the one that is current when it is sent. With `at_once` it is not held
/// back for want of a connection: then it is not carried out at all (not_sent). With `wanted_since`
/// its wait for a connection counts from then.
struct Request {
  Operation operation;
  SessionId session = {};
  bool at_once = false;
  Instant wanted_since = {};  ///< not set: since it is submitted
};

/// The answer to any request; which members are filled in is said at the request.
struct Reply {
  Status status = Status::server_error;
  SessionId session;   ///< on which it was sent; 0 if it never was
  Instant sent_at;     ///< not later than the first byte left; meaningful when it was sent
  std::string detail;  ///< the cause in words, for server_error, not_connected and the like
  std::string name;    ///< the created node's name, without the parent
  FencingToken token;
  std::int32_t child_count = 0;
  FencingToken last_child;  ///< pzxid: what made the last child, or deleted one
  std::vector<std::string> children;
  core::Sequence next;  ///< sequence number of the next child
  std::string data;
  SessionId ephemeral_owner;
  std::int64_t created_ms = 0;   ///< ctime, milliseconds since 1970
  std::int32_t version = 0;      ///< of the data
  std::int32_t acl_version = 0;  ///< aversion: the number of changes of the ACL
  std::vector<AclEntry> acl;
  /// Of a Transaction: the place of the operation that failed, the guard's being 0 where there is
  /// one; -1: none of them.
  int failed_operation = -1;
  /// Of a watch: the servers may keep its events to themselves. Then they come late, if at all: of a
  /// node that was deleted and made anew meanwhile there is none.
  bool mute = false;
};

using ReplyHandler = std::function<void(Reply)>;

/// Names a request under way, or a watch. 0: none.
enum class RequestId : std::uint64_t {};

/// A connected session, as told by SessionObserver::connected.
struct SessionInfo {
  SessionId id;
  core::Duration timeout{};  ///< T as negotiated
  Instant attempt_began;     ///< not later than the connection's handshake was sent
  bool is_new = false;       ///< first connection of this session
};

/// What the coordinator tells of its sessions. Called one at a time, in order, with no lock held,
/// from threads that must not be kept: implementations do not block and run no user code.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  /// Told before any request is sent over the connection.
  virtual void connected(const SessionInfo& session) = 0;
  /// The connection broke. Told before the replies `unknown` of the requests it took along.
  virtual void suspended(SessionId session) = 0;
  /// The session expired (session_ended), was refused (auth_failed: no further session follows) or
  /// was closed. session_ended also: the client ended it after T without a connection. The servers may
  /// then keep its znodes until they expire it, and may still execute requests sent before.
  /// Told before the replies of the requests that were bound to it. Its watches go without a word.
  /// `session`: 0 for a client that is refused before it has one.
  virtual void ended(SessionId session, Status why) = 0;
  /// The servers have answered a request that was sent at `sent_at` (the first of them, where it
  /// took several round trips); told before its reply is handed out. Not told for requests that
  /// failed without an answer (unknown, session_ended), or were refused by the client itself.
  /// `by_quorum`: the leader and a majority have seen it: a create, multi or delete that was
  /// carried out, or refused for what the tree says (no_node, no_auth, ...). Reads, and refusals
  /// that a single server can make (throttled, read_only, ...), are not.
  virtual void answered(SessionId session, Instant sent_at, bool by_quorum) = 0;
};

/// The one seam between the lock protocol and ZooKeeper: all I/O goes through it, and the tests
/// put a simulated ensemble in its place.
///
/// It owns the connection: reconnects, opens a new session when the old one ended, and holds back
/// what is submitted meanwhile. Requests of one session are executed and answered in the order of
/// submission, with two exceptions. A request that is never sent may be answered out of order. A
/// GetAndWatch of an unreadable znode takes a second round trip and is answered after requests sent
/// meanwhile.
///
/// Thread-safety: all members, from any thread.
class Coordinator {
 public:
  /// After close() also within a handler, of what was submitted since; the others are called first.
  virtual ~Coordinator() = default;

  /// Starts connecting; events go to `observer`, which must outlive close().
  virtual void start(SessionObserver& observer) = 0;

  /// Every request gets exactly one reply. `handler` is called with no lock held, never from
  /// within submit(), on a thread that must not be kept; it may call any member but close(). A
  /// request that is not bound to a session waits for one at most for
  /// ClientOptions::connection_timeout, then it is answered `not_connected`.
  /// Throws: std::bad_alloc, and nothing was submitted. What finds no memory only when it is to be sent
  /// is sent later.
  virtual RequestId submit(Request request, ReplyHandler handler) = 0;

  /// Calls `task` once, as a handler: what the caller has no time for. What was asked for earlier is
  /// done earlier.
  virtual void soon(std::function<void()> task) = 0;

  /// If the request has not been sent yet, it never will be, and is answered `not_sent` soon: then
  /// true. Where there is no memory for that answer, it is as if it had been sent.
  virtual bool abandon(RequestId request) noexcept = 0;

  /// Ends the interest of one request with a watch, whether or not it has been answered: `on_event`
  /// will not be called any more (a call that has begun may still be running). The servers' watch
  /// goes when nobody else needs it. Where there is no memory to ask them for that, it stays until its
  /// event, which is then told to nobody, or until the session ends.
  virtual void unwatch(RequestId request) noexcept = 0;

  /// Ends the session and answers everything that is left with `closed`. Blocks until no handler
  /// runs any more. Not to be called from a handler. A second call waits for what was submitted
  /// since, which is answered `closed`.
  virtual void close() = 0;

  /// Returns whether close() waits for the calling thread, because it runs a handler, a watch event, an
  /// event of the observer or a task of soon(). The default is for coordinators whose close() waits for
  /// no thread.
  virtual bool runs_here() const noexcept { return false; }

  /// What stands in the way of a connection, in words; for the texts of errors.
  virtual std::string trouble() const = 0;
};

}  // namespace zklock::client
