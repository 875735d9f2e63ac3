// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "zklock/client_options.h"
#include "zklock/deadline.h"

namespace zklock {

namespace recipes {
class ClientCore;
}
namespace testing {
struct ClientFactory;
}

/// The state of a client's connection, told to its listeners.
///
/// | told        | meaning                                                                      |
/// |-------------|------------------------------------------------------------------------------|
/// | connected   | a session was opened (the first, or a new one after `lost`)                  |
/// | suspended   | the connection broke; holds stay valid for the rest of their leases          |
/// | reconnected | the connection is back, with the same session                                |
/// | lost        | the session has ended; its holds are lost; a new one is being opened         |
///
/// `lost` needs no server. The client ends a session that has had no connection for its timeout T,
/// and reports `lost` at that moment. The servers keep the session and its lock znodes until they
/// expire it. After an outage of the whole ensemble, that is up to T and two ticks after it is back.
/// Waiting calls enqueue again, behind those znodes.
enum class ConnectionState { connected, suspended, reconnected, lost };

/// Keeps a listener registered; destroying it removes the listener, and waits for a call of it
/// that is under way, except on the thread that runs that call.
///
/// Thread-safety: a distinct object may be used from any thread.
class [[nodiscard]] Subscription {
 public:
  Subscription() noexcept = default;
  explicit Subscription(std::function<void()> cancel) noexcept : cancel_(std::move(cancel)) {}
  Subscription(Subscription&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      cancel();
      cancel_ = std::exchange(other.cancel_, nullptr);
    }
    return *this;
  }
  ~Subscription() { cancel(); }
  void cancel() noexcept {
    if (auto f = std::exchange(cancel_, nullptr)) f();
  }

 private:
  std::function<void()> cancel_;
};

/// A connection to a ZooKeeper ensemble, and the sessions on it, one after the other.
///
/// It reconnects by itself, and opens a new session when the old one has expired. Share one Client
/// among all locks of a process: it needs one TCP connection and a handful of threads, however
/// many locks and waiters there are. Source: org.apache.curator.framework.CuratorFramework.
///
/// After fork() the client belongs to the parent. In the child every call throws Errc::forked, and
/// destructors leave connection and threads alone; make a new Client there. A fork()
/// during the resolution of a host name can leave glibc's resolver locked in the child. A program
/// started by exec does not inherit the client's socket and pipe. Exceptions: it can inherit them while they are
/// being opened. The pipe stays inheritable if another thread creates a similar pipe at that moment.
/// When a connection is made, every socket of the process connected to the same server address gets
/// FD_CLOEXEC, also those of other libraries.
///
/// Thread-safety: all members may be called by any thread at any time, also from callbacks.
class Client {
 public:
  /// Effects: checks the options and starts connecting. Does not block; no server needs to be up.
  /// Throws: Error(invalid_hosts | invalid_option | invalid_acl | unsupported); then nothing was
  /// opened.
  explicit Client(ClientOptions options);
  /// The same with the defaults of ClientOptions.
  explicit Client(std::string hosts);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  /// Same as close().
  ~Client();

  /// Blocks until a session is connected. False when the deadline came first; the attempts go on.
  /// Throws: Error(auth_failed | closed | forked).
  bool wait_until_connected(Deadline deadline = Deadline::never());

  /// Does not block. What it says may be out of date when it returns; a Hold knows better.
  bool is_connected() const noexcept;

  /// The current session's id; 0 while there is none.
  std::int64_t session_id() const noexcept;

  /// The session timeout as the servers granted it; 0 before the first connection.
  std::chrono::milliseconds session_timeout() const noexcept;

  /// Calls `listener` for every change from now on, in order, one call at a time, on the executor.
  /// An exception that it throws is logged and dropped.
  Subscription add_listener(std::function<void(ConnectionState)> listener);

  /// Blocks until the ensemble has confirmed every release, withdrawal and downgrade begun before the
  /// call, or their session has ended. A call that ended without the lock (timeout, stop, close) has
  /// begun its withdrawal when it returns. First sends refused deletes again. Returns true at once if
  /// the client is closed. Returns false if the deadline came first; the work continues.
  ///
  /// Also returns false, once all other work is done, if the ACL of a lock's path refuses the
  /// client's delete. Every acquire there sends the delete again and throws Error(no_auth), until a
  /// delete succeeds or the session ends.
  /// Throws: Error(forked).
  bool flush(Deadline deadline = Deadline::never());

  /// Effects: holds turn `lost`, every waiting call ends with Error(closed), lock znodes are deleted
  /// with the session. Blocks for at most about 10 seconds (longer while the system's resolver does
  /// not answer): for the server's reply, and for user callbacks that are running. Does not wait for
  /// the callback that calls close(). A second call waits for the first, but not in a callback.
  ///
  /// On a thread of the library that close() would wait for, close() returns at once, and another
  /// thread closes the client. That happens, for example, if a destroyed callback owned the last
  /// Client. If the process exits before that, the servers delete the lock znodes when the session
  /// expires. The first close() terminates the process if the system has no memory for it.
  void close() noexcept;

 private:
  friend class recipes::ClientCore;
  friend struct testing::ClientFactory;  // which only tests have: a client on simulated servers
  explicit Client(std::shared_ptr<recipes::ClientCore> core) noexcept;

  std::shared_ptr<recipes::ClientCore> core_;
};

}  // namespace zklock
