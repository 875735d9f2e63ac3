// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zookeeper/zookeeper.h>

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
  /// it accepts none between two attempts to connect. Not thread-safe. REQUIRES: no request was sent
  /// yet.
  bool authenticate(const std::vector<DigestCredential>& credentials);

  /// Ends the session, if it is connected. Blocks for up to 4.5 s. When it returns, no callback is
  /// running, and the threads of the C client have ended. Some completions may never be reported.
  ~ZkHandle();
  ZkHandle(const ZkHandle&) = delete;
  ZkHandle& operator=(const ZkHandle&) = delete;

  /// Marks the socket of the connection, so that programs started by exec do not inherit it.
  void mark_close_on_exec() const;

  zhandle_t* get() const noexcept { return handle_; }
  core::SessionId session() const noexcept;
  core::Duration timeout() const noexcept;  ///< the negotiated session timeout
  bool is_connected() const noexcept;
  /// Returns whether there is no connection and the next handshake has not been sent.
  bool before_handshake() const noexcept;

 private:
  explicit ZkHandle(zhandle_t* handle) noexcept : handle_(handle) {}
  static void on_event(zhandle_t* handle, int type, int state, const char* path,
                       void* listener) noexcept;

  zhandle_t* const handle_;
  std::size_t authenticated_ = 0;  // count of credentials added
};

/// Returns whether zklock was built with a C client that supports TLS.
bool tls_supported() noexcept;

}  // namespace zklock::client
