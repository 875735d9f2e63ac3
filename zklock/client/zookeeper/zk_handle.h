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

#include "zklock/client/zookeeper/quirks/handle_callbacks.h"
#include "zklock/client/zookeeper/quirks/log_bridge.h"
#include "zklock/client_options.h"
#include "zklock/core/session.h"

namespace zklock::client {

/// Owns one handle of the C client, and with it at most one session.
///
/// Thread-safety: the queries, from any thread. REQUIRES: no member and no call of the C client
/// uses the handle during its destruction.
class ZkHandle {
 public:
  struct Options {
    std::string servers;  ///< from ConnectionString::for_c_client()
    std::chrono::milliseconds session_timeout{};
    std::optional<TlsOptions> tls;
    LogBridge::Callback log = nullptr;
  };

  /// Starts connecting. Returns null if the C client refuses, with the cause in `why`.
  static std::unique_ptr<ZkHandle> open(const Options& options, HandleListener& listener,
                                        std::string& why);
  /// Adds the credentials that have not been added yet. Returns false if the C client refused one:
  /// it accepts none between two attempts to connect. Not thread-safe. REQUIRES: no request was
  /// sent yet.
  bool authenticate(const std::vector<DigestCredential>& credentials);

  /// Ends the session, if it is connected. Blocks for up to 4.5 s. When it returns, no callback is
  /// running, and the threads of the C client have ended. Some completions may never be reported.
  ~ZkHandle();
  /// Calls close_within() with 5 s, or 1 s without a connection.
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
  ZkHandle(zhandle_t* handle, std::shared_ptr<HandleCallbacks> callbacks,
           std::string servers) noexcept
      : handle_(handle), callbacks_(std::move(callbacks)), servers_(std::move(servers)) {}

  zhandle_t* const handle_;
  const std::shared_ptr<HandleCallbacks> callbacks_;  // their `context`
  std::string servers_;                               // the last list; used by the I/O thread only
  std::size_t authenticated_ = 0;                     // count of credentials added
};

/// Returns whether the C client of this process supports TLS.
bool tls_supported() noexcept;

}  // namespace zklock::client
