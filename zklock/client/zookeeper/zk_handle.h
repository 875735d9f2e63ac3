// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <zookeeper/zookeeper.h>

#include "zklock/client/port/mutex.h"
#include "zklock/client/zookeeper/log_bridge.h"
#include "zklock/client_options.h"
#include "zklock/core/session.h"

namespace zklock::client {

/// Owns one handle of the C client, and with it at most one session.
///
/// Thread-safety: the queries, from any thread. REQUIRES: no member and no call of the C client
/// uses the handle during its destruction.
class ZkHandle {
 public:
  /// Receives session and watch events, never concurrently, on a thread of the C client. The first
  /// event may come before open() has returned.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_session_event(int state) = 0;
    virtual void on_watch_event(int type, const std::string& path) = 0;
  };

  struct Options {
    std::string servers;  ///< from ConnectionString::for_c_client()
    std::chrono::milliseconds session_timeout{};
    std::optional<TlsOptions> tls;
    LogBridge::Callback log = nullptr;
  };

  /// Starts connecting. Returns null if the C client refuses, with the cause in `why`.
  static std::unique_ptr<ZkHandle> open(const Options& options, Listener& listener,
                                        std::string& why);
  /// Adds the credentials that have not been added yet. Returns false if the C client refused one:
  /// it accepts none between two attempts to connect. Not thread-safe. REQUIRES: no request was
  /// sent yet.
  bool authenticate(const std::vector<DigestCredential>& credentials);

  /// Ends the session, if it is connected. Blocks for up to 4.5 s. When it returns, no callback is
  /// running, and the threads of the C client have ended. Some completions may never be reported.
  ~ZkHandle();
  /// Destroys the handle on a thread of its own. Blocks until that is done, but at most for 5 s, or
  /// for 1 s without a connection: with TLS the C client can hang. Then the thread goes on, but
  /// calls no listener any more. `user`: lives until the thread ends, because completions of the
  /// handle may use it. Returns an object that expires then. If no thread can be started, destroys
  /// the handle on the calling one, without a limit.
  static std::weak_ptr<const void> close_within_limit(std::unique_ptr<ZkHandle> handle,
                                                      std::shared_ptr<const void> user);
  ZkHandle(const ZkHandle&) = delete;
  ZkHandle& operator=(const ZkHandle&) = delete;

  /// Replaces the servers, if the list differs from the last one. The next attempt to connect uses
  /// it. REQUIRES: the calling thread is the I/O thread of the C client, and there is no
  /// connection. Otherwise the C client could close a connection without an event.
  void set_servers(const std::string& servers);

  /// Marks the socket of the connection, so that programs started by exec do not inherit it.
  void mark_close_on_exec() const;

  zhandle_t* get() const noexcept { return handle_; }
  core::SessionId session() const noexcept;
  core::Duration timeout() const noexcept;  ///< the negotiated session timeout
  bool is_connected() const noexcept;
  /// Returns whether there is no connection and the next handshake has not been sent.
  bool before_handshake() const noexcept;

 private:
  // REQUIRES: tls_supported(), and no other thread calls it.
  static zhandle_t* open_tls(const Options& options, void* context);
  /// The context of the callbacks. A handle whose close hangs has no listener any more. The mutex
  /// is not held during a call of the listener.
  class Target {
   public:
    explicit Target(Listener& listener) noexcept : listener_(&listener) {}
    /// Returns null after forget_listener(). Otherwise end_call() must follow.
    Listener* begin_call() noexcept;
    void end_call() noexcept;
    /// Blocks until no call is running.
    void forget_listener() noexcept;

   private:
    Mutex mutex_;
    Condition ended_;
    Listener* listener_ ZKLOCK_GUARDED_BY(mutex_);
    int running_ ZKLOCK_GUARDED_BY(mutex_) = 0;
  };
  ZkHandle(zhandle_t* handle, std::shared_ptr<Target> target, std::string servers) noexcept
      : handle_(handle), target_(std::move(target)), servers_(std::move(servers)) {}
  static void on_event(zhandle_t* handle, int type, int state, const char* path,
                       void* context) noexcept;

  zhandle_t* const handle_;
  const std::shared_ptr<Target> target_;
  std::string servers_;            // the last list; used by the I/O thread only
  std::size_t authenticated_ = 0;  // count of credentials added
};

/// Returns whether the C client of this process supports TLS.
bool tls_supported() noexcept;

}  // namespace zklock::client
