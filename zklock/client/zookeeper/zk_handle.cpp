// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/zk_handle.h"

#include <cerrno>
#include <system_error>

#include "zklock/client/threads/start_thread.h"
#include "zklock/client/zookeeper/credentials.h"
#include "zklock/client/zookeeper/quirks/close_on_exec.h"
#include "zklock/client/zookeeper/quirks/log_bridge.h"

// The header declares this function only if a macro says that OpenSSL's headers are present. zklock
// does not need them. The symbol is weak: its address is null if the C client of this process was
// built without OpenSSL.
extern "C" __attribute__((weak)) zhandle_t* zookeeper_init_ssl(const char* host, const char* cert,
                                                               watcher_fn fn, int recv_timeout,
                                                               const clientid_t* clientid,
                                                               void* context, int flags);

namespace zklock::client {
namespace {

// zoo_state() returns 0 between two attempts to connect. The header has no constant for it.
constexpr int kBetweenAttempts = 0;

// zookeeper_close() waits for up to 4.5 s if it is connected, else for a turn of the I/O thread.
constexpr std::chrono::seconds kLongestClose{5};
constexpr std::chrono::seconds kLongestCloseUnconnected{1};

// zookeeper_init starts one for the network and one for completions.
constexpr std::size_t kThreadsOfHandle = 2;

}  // namespace

zhandle_t* ZkHandle::open_tls(const Options& options, void* context) {
  // The C client skips empty parts. Without a password it would read one from the terminal, or
  // leave the certificate out. A key in the clear needs none, so any text will do.
  const std::string& password = options.tls->key_password;
  const std::string files = options.tls->ca_file + "," + options.tls->certificate_file + "," +
                            options.tls->key_file + "," + (password.empty() ? "none" : password);
  // zookeeper_init_ssl takes no log callback, so its lines would go to the standard error output.
  options.log(
      (":ZOO_INFO@zookeeper_init_ssl: Initiating client connection, host=" + options.servers +
       " sessionTimeout=" + std::to_string(options.session_timeout.count()))
          .c_str());
  const CClientSilence silence;
  const int timeout_ms = static_cast<int>(options.session_timeout.count());
  zhandle_t* const handle =
      ::zookeeper_init_ssl(options.servers.c_str(), files.c_str(), &HandleCallbacks::on_event,
                           timeout_ms, nullptr, context, ZOO_NO_LOG_CLIENTENV);
  if (handle != nullptr) zoo_set_log_callback(handle, options.log);
  return handle;
}

bool tls_supported() noexcept {
  return &zookeeper_init_ssl != nullptr;
}

std::unique_ptr<ZkHandle> ZkHandle::open(const Options& options, HandleListener& listener,
                                         std::string& why) {
  const int timeout_ms = static_cast<int>(options.session_timeout.count());
  zhandle_t* handle = nullptr;
  const auto callbacks = std::make_shared<HandleCallbacks>(listener);
  // Also lets only one thread call zookeeper_init_ssl, which uses strtok().
  const PipeCloseOnExec pipe;
  if (!can_start_threads(kThreadsOfHandle)) {  // without them the C client ends the process
    why = "the ZooKeeper C client cannot start: " + thread_shortage();
    return nullptr;
  }
  const ThreadName inherited("zklock-io");  // by the two threads of the C client
  errno = 0;
  if (options.tls && !tls_supported()) {  // never in the clear instead
    why = "the ZooKeeper C client has no TLS";
    return nullptr;
  }
  if (options.tls) {
    handle = open_tls(options, callbacks.get());
  } else {
    handle = zookeeper_init2(options.servers.c_str(), &HandleCallbacks::on_event, timeout_ms,
                             nullptr, callbacks.get(), ZOO_NO_LOG_CLIENTENV, options.log);
  }
  if (handle == nullptr) {
    why = "the ZooKeeper C client cannot start: " + std::generic_category().message(errno);
    return nullptr;
  }
  pipe.mark();
  // By default the C client resolves the host names in every turn of its I/O loop. If that fails, a
  // connected client sends nothing any more.
  zoo_set_servers_resolution_delay(handle, -1);
  return std::unique_ptr<ZkHandle>(new ZkHandle(handle, callbacks, options.servers));
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
  callbacks_->begin_close();
  zookeeper_close(handle_);
}

std::weak_ptr<const void> ZkHandle::close_within_limit(std::unique_ptr<ZkHandle> handle,
                                                       std::shared_ptr<const void> user) {
  const auto longest = handle->is_connected() ? kLongestClose : kLongestCloseUnconnected;
  const std::shared_ptr<HandleCallbacks> callbacks = handle->callbacks_;
  return close_within(longest, std::move(handle), *callbacks, std::move(user));
}

void ZkHandle::set_servers(const std::string& servers) {
  if (servers == servers_) return;
  servers_ = servers;
  // The C client ignores a list with as many addresses as the last one, on the same hosts: it does
  // not compare the ports. The first call changes the count, so the second one is not ignored.
  const std::string first = servers.substr(0, servers.find(','));
  zoo_set_servers(handle_, (servers + "," + first).c_str());
  zoo_set_servers(handle_, servers.c_str());
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
  // Not in ZOO_CONNECTING_STATE: the C client leaves that state only after it has sent the
  // handshake.
  const int state = zoo_state(handle_);
  return state == kBetweenAttempts || state == ZOO_NOTCONNECTED_STATE;
}

}  // namespace zklock::client
