// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/zk_handle.h"

#include <cerrno>
#include <system_error>

#include "zklock/client/threads/start_thread.h"
#include "zklock/client/zookeeper/close_on_exec.h"
#include "zklock/client/zookeeper/digest_id.h"

#if ZKLOCK_HAS_TLS
// The header declares this function only if a macro says that OpenSSL's headers are present. zklock
// does not need them.
extern "C" zhandle_t* zookeeper_init_ssl(const char* host, const char* cert, watcher_fn fn,
                                         int recv_timeout, const clientid_t* clientid,
                                         void* context, int flags);
#endif

namespace zklock::client {
namespace {

// zoo_state() returns 0 between two attempts to connect. The header has no constant for it.
constexpr int kBetweenAttempts = 0;

// The states are variables in the C header, so they cannot be cases of a switch.
bool is_before_handshake(int state) noexcept {
  // Not in ZOO_CONNECTING_STATE: the C client leaves that state only after it has sent the
  // handshake.
  return state == kBetweenAttempts || state == ZOO_NOTCONNECTED_STATE;
}

}  // namespace

bool tls_supported() noexcept {
#if ZKLOCK_HAS_TLS
  return true;
#else
  return false;
#endif
}

std::unique_ptr<ZkHandle> ZkHandle::open(const Options& options, Listener& listener,
                                         std::string& why) {
  const int timeout_ms = static_cast<int>(options.session_timeout.count());
  zhandle_t* handle = nullptr;
  const PipeCloseOnExec pipe;
  const ThreadName inherited("zklock-io");  // by the two threads of the C client
  errno = 0;
#if ZKLOCK_HAS_TLS
  if (options.tls) {
    const std::string files = options.tls->ca_file + "," + options.tls->certificate_file + "," +
                              options.tls->key_file + "," + options.tls->key_password;
    handle = ::zookeeper_init_ssl(options.servers.c_str(), files.c_str(), &ZkHandle::on_event,
                                  timeout_ms, nullptr, &listener, ZOO_NO_LOG_CLIENTENV);
    // zookeeper_init_ssl takes no log callback. Its lines before this one go to the C client's
    // stream.
    if (handle != nullptr) zoo_set_log_callback(handle, options.log);
  } else
#endif
  {
    handle = zookeeper_init2(options.servers.c_str(), &ZkHandle::on_event, timeout_ms, nullptr,
                             &listener, ZOO_NO_LOG_CLIENTENV, options.log);
  }
  if (handle == nullptr) {
    why = "the ZooKeeper C client cannot start: " + std::generic_category().message(errno);
    return nullptr;
  }
  pipe.mark();
  // By default the C client resolves the host names in every turn of its I/O loop. If that fails, a
  // connected client sends nothing any more.
  zoo_set_servers_resolution_delay(handle, -1);
  return std::unique_ptr<ZkHandle>(new ZkHandle(handle));
}

bool ZkHandle::authenticate(const std::vector<DigestCredential>& credentials) {
  for (; authenticated_ < credentials.size(); ++authenticated_) {
    const std::string secret = digest_secret(credentials[authenticated_]);
    const int code = zoo_add_auth(handle_, "digest", secret.data(), static_cast<int>(secret.size()),
                                  nullptr, nullptr);
    if (code != ZOK) return false;
  }
  return true;
}

ZkHandle::~ZkHandle() {
  zookeeper_close(handle_);
}

void ZkHandle::mark_close_on_exec() const {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (zookeeper_get_connected_host(handle_, reinterpret_cast<sockaddr*>(&peer), &length) == nullptr)
    return;  // the connection is already lost
  mark_connections_close_on_exec(peer, length);
}

core::SessionId ZkHandle::session() const noexcept {
  return {zoo_client_id(handle_)->client_id};
}

core::Duration ZkHandle::timeout() const noexcept {
  return std::chrono::milliseconds(zoo_recv_timeout(handle_));
}

bool ZkHandle::is_connected() const noexcept {
  return zoo_state(handle_) == ZOO_CONNECTED_STATE;
}

bool ZkHandle::before_handshake() const noexcept {
  return is_before_handshake(zoo_state(handle_));
}

void ZkHandle::on_event(zhandle_t* /*handle*/, int type, int state, const char* path,
                        void* listener) noexcept {
  thread_local const int kNamed = ::pthread_setname_np(::pthread_self(), "zklock-events");
  static_cast<void>(kNamed);
  auto& target = *static_cast<Listener*>(listener);
  if (type == ZOO_SESSION_EVENT) {
    target.on_session_event(state);
  } else if (path != nullptr) {
    target.on_watch_event(type, path);
  }
}

}  // namespace zklock::client
