// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zookeeper/zookeeper.h>

#include "zklock/client/log_bridge.h"
#include "zklock/client_options.h"
#include "zklock/core/session.h"

namespace zklock::client {

/// Owns one handle of the C client, and with it at most one session.
///
/// Thread-safety: the queries from any thread. Nothing may be called on the handle while it is
/// destroyed.
class ZkHandle {
 public:
  /// Hears of session and watch events, one at a time, on a thread of the C client. The first may
  /// come before open() has returned.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_session_event(int state) = 0;
    virtual void on_watch_event(int type, const std::string& path) = 0;
  };

  struct Options {
    std::string servers;  ///< as of ConnectionString::for_c_client()
    std::chrono::milliseconds session_timeout{};
    std::optional<TlsOptions> tls;
    LogBridge::Callback log = nullptr;
  };

  /// Starts connecting; null, with the reason in `why`, when the C client refuses.
  static std::unique_ptr<ZkHandle> open(const Options& options, Listener& listener,
                                        std::string& why);
  /// Adds the credentials that have not been added yet; before the first request. False where some
  /// are left: the C client takes none between two attempts to connect. Not thread-safe.
  bool authenticate(const std::vector<DigestCredential>& credentials);

  /// Ends the session, if it is connected. Blocks, up to 4.5 s; no callback runs any more when it
  /// returns. Completions that the C client lost stay in the RequestRegistry.
  ~ZkHandle();
  ZkHandle(const ZkHandle&) = delete;
  ZkHandle& operator=(const ZkHandle&) = delete;

  /// Marks the socket of the connection, so that programs started by exec do not inherit it.
  void mark_close_on_exec() const;

  zhandle_t* get() const noexcept { return handle_; }
  core::SessionId session() const noexcept;
  core::Duration timeout() const noexcept;  ///< as negotiated
  bool connected() const noexcept;
  /// Between two connections, and the next one's handshake has not been sent.
  bool before_handshake() const noexcept;

 private:
  explicit ZkHandle(zhandle_t* handle) noexcept : handle_(handle) {}
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* listener);

  zhandle_t* const handle_;
  std::size_t authenticated_ = 0;  // how many credentials have been added
};

/// Whether the C client that zklock was built with speaks TLS.
bool tls_supported() noexcept;

}  // namespace zklock::client
