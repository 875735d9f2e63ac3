// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "zklock/client_options.h"
#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/health.h"
#include "zklock/metrics.h"
#include "zklock/subscription.h"

namespace zklock {

namespace detail {
class ClientCore;
struct ClientFactory;
}  // namespace detail

/// The state of a client's connection, as its listeners receive it.
///
/// | state       | meaning                                                                      |
/// |-------------|------------------------------------------------------------------------------|
/// | connected   | a session was opened: the first one, or a new one after `lost`               |
/// | suspended   | the connection broke; holds stay valid for the rest of their leases          |
/// | reconnected | the connection is back, with the same session                                |
/// | lost        | the session has ended; its holds are lost; a new one is being opened         |
///
/// The client reports `lost` by its own clock: when a session has had no connection for its timeout
/// T, the client ends it. The servers expire the session, and delete its lock znodes, later. After
/// an outage of the whole ensemble, they do so up to T and two server ticks after the ensemble is
/// back. Waiting calls enqueue again. Until the servers delete the old znodes, the new ones wait
/// behind them.
enum class ConnectionState { connected, suspended, reconnected, lost };

/// Returns the name of the enumerator, for example "connected"; "unknown" for any other value.
[[nodiscard]] ZKLOCK_EXPORT std::string_view to_string(ConnectionState state) noexcept;
/// Writes to_string().
ZKLOCK_EXPORT std::ostream& operator<<(std::ostream& out, ConnectionState state);

/// A connection to a ZooKeeper ensemble, with one session at a time.
///
/// The client reconnects by itself, and opens a new session when the old one has expired. Share one
/// Client among all locks of a process. It needs one TCP connection and a few threads, for any
/// number of locks and waiting calls. Locks and Holds may outlive their Client: then calls throw
/// Error(closed), and the Holds are `lost`.
/// Source: org.apache.curator.framework.CuratorFramework.
///
/// After fork() the client belongs to the parent process. In the child, every function that sends a
/// request throws Error(forked), unless it is noexcept. Destructors do not use the connection or
/// the threads there. Make a new Client in the child. A fork() during the resolution of a host name
/// can leave glibc's resolver locked in the child.
///
/// A shared object that contains zklock stays loaded after dlclose(), because a thread that has
/// called lock() calls zklock when it ends. Close each client of such an object before dlclose(). A
/// client with static storage is destroyed only at the end of the process, and its locks stay held
/// until then.
///
/// The ZooKeeper C client opens its socket and pipe without FD_CLOEXEC. The library sets that flag
/// immediately afterwards. Until then a program started by exec inherits them. The library sets the
/// flag on every socket of the process that is connected to the server's address, including those
/// of other libraries. It finds the pipe by a comparison of the open descriptors. If another thread
/// creates a non-blocking pipe meanwhile, the library sets the flag on neither. Then a program
/// started by exec inherits the client's pipe.
///
/// Thread-safety: all members may be called by any thread, even from callbacks. No call may overlap
/// construction or destruction. Exception: a callback may destroy the client.
class ZKLOCK_EXPORT Client {
 public:
  /// Checks the options, starts the threads of the client, and begins to connect. Does not block;
  /// no server needs to run yet.
  /// Throws: Error(invalid_hosts | invalid_option | invalid_acl | unsupported). Then nothing was
  /// opened.
  explicit Client(ClientOptions options);
  /// Uses the defaults of all other ClientOptions. A template, because compilers would otherwise
  /// also convert `{.hosts = "..."}` to a string.
  template <class Text>
  requires std::constructible_from<std::string, Text> && std::convertible_to<Text, std::string_view>
  explicit Client(Text&& hosts)
      : Client(ClientOptions{.hosts = std::string(std::forward<Text>(hosts))}) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  /// Calls close().
  ~Client();

  /// Blocks until a session is connected, and returns true. Returns false if the deadline passed
  /// first; the client continues to connect.
  /// Throws: Error(auth_failed | closed | forked).
  [[nodiscard]] bool wait_until_connected(Deadline deadline = Deadline::never());

  /// Returns whether a session is connected. The result may be out of date at the return;
  /// Hold::state() returns the validity of a hold. Does not block.
  [[nodiscard]] bool is_connected() const noexcept;

  /// Returns the id of the current session; 0 if there is none.
  [[nodiscard]] std::int64_t session_id() const noexcept;

  /// Returns the session timeout that the servers granted; 0 before the first connection. If
  /// several servers granted different ones to the session, returns the shortest so far.
  [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept;

  /// Replaces the servers, for example before one of them is moved. `hosts` is a list as in
  /// ClientOptions::hosts, with the same chroot. Does not block, and sends nothing.
  ///
  /// The present connection stays, even if the list does not have its server. So the session and
  /// its holds survive the call. When that connection breaks, the client reconnects the session.
  /// The first attempt can go to an old server. From the first failed attempt on, the new list
  /// applies, and host names are resolved again. It also applies after all old servers have
  /// accepted the client and then closed the connection. The client never leaves a working server,
  /// not even to balance the load.
  ///
  /// In two cases the list applies, and names are resolved again, only for the next session. The
  /// first: the process had 256 other clients when this one was made. The second, with
  /// ClientOptions::tls: the TLS handshake of an earlier connection of this client still hangs.
  ///
  /// REQUIRES: old and new servers belong to one ensemble. Another ensemble does not know the
  /// session, and excludes no contender of the old one.
  /// Throws: Error(invalid_hosts) if the list is malformed or the chroot differs, and
  /// Error(closed | forked). Then nothing has changed.
  void set_hosts(const std::string& hosts);

  /// Calls `listener` for every change from now on, but not for the present state. The calls run in
  /// order, one at a time, on ClientOptions::executor. An exception that the listener throws is
  /// logged and dropped. The returned object keeps the listener registered.
  /// Throws: Error(closed | forked).
  Subscription add_listener(std::function<void(ConnectionState)> listener);

  /// Blocks until the ensemble has confirmed every release, withdrawal and downgrade that began
  /// before the call, or their session has ended. A withdrawal is the delete of the znode of an
  /// acquiring call that ended without the lock. It begins before that call returns. Returns true
  /// at once if the client is closed. Returns false if the deadline passed first; the work
  /// continues.
  ///
  /// If the ACL of a lock's path has refused a delete, flush() sends it once more. If it is refused
  /// again, flush() returns false when all other work is done. Every acquire on that path first
  /// sends the delete again, unless the session has ended. If it is refused again, the acquire
  /// throws Error(no_auth).
  /// Throws: Error(forked).
  [[nodiscard]] bool flush(Deadline deadline = Deadline::never());

  /// Returns the counts since the construction of the client, and its present state. Sends nothing.
  /// Locks the mutex of the client once for each path, for about 0.1 us for each contender there.
  /// The numbers are read one after the other, so a call that ends meanwhile may be in some of
  /// them. After close(), returns the final counts.
  /// Throws: Error(forked).
  [[nodiscard]] ClientMetrics metrics() const;

  /// Returns whether the client works, and what is wrong; see Health. Sends nothing. Does not
  /// block, except on mutexes for microseconds. After close(), the state is `failed`.
  /// Throws: Error(forked).
  [[nodiscard]] Health health() const;

  /// Closes the session: holds turn `lost`, every waiting call ends with Error(closed), and the
  /// lock znodes are deleted with the session. Blocks until the server replies and running user
  /// callbacks return, for about 12 seconds at most. It blocks longer while the system's resolver
  /// does not answer. With TLS, it can also block longer if the system has no thread left. Does not
  /// wait for the callback that calls close(). A second call waits for the first, but not in a
  /// callback. If no server answers, the session and its znodes stay until the servers expire it.
  ///
  /// An internal thread of the client can destroy a callback object that has the last reference to
  /// the Client. Then close() returns at once, and another thread closes the client. If the process
  /// exits before the client is closed, the servers delete the lock znodes when the session
  /// expires.
  void close() noexcept;

 private:
  friend class detail::ClientCore;
  friend struct detail::ClientFactory;  // in tests only, makes a client on simulated servers
  ZKLOCK_HIDDEN explicit Client(std::shared_ptr<detail::ClientCore> core) noexcept;

  std::shared_ptr<detail::ClientCore> core_;
};

}  // namespace zklock
