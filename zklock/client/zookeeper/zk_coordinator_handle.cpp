// SPDX-License-Identifier: Apache-2.0
// How the coordinator opens, replaces and closes a handle of the C client.
#include <algorithm>
#include <cassert>
#include <utility>

#include "zklock/client/port/boot_time.h"
#include "zklock/client/zookeeper/tls_files.h"
#include "zklock/client/zookeeper/zk_coordinator.h"

namespace zklock::client {
namespace {

// Each handle whose close hangs has three threads.
constexpr std::size_t kMostHanging = 16;

}  // namespace

std::unique_ptr<ZkHandle> ZkCoordinator::open_handle(std::string& why) {
  // The limit and the files may have changed since the client was made.
  if (options_.tls) why = tls_descriptor_problem();
  if (options_.tls && why.empty()) why = tls_file_problem(*options_.tls);
  if (!why.empty()) return nullptr;
  const ConnectionString hosts = present_hosts();
  if (hanging_handles() >= kMostHanging) {
    why = std::to_string(kMostHanging) + " TLS handshakes with " + hosts.servers_text() +
          " get no answer; check the servers";
    return nullptr;
  }
  ZkHandle::Options handle_options;
  handle_options.servers = hosts.for_c_client();  // may block in the resolver
  handle_options.session_timeout = options_.session_timeout;
  handle_options.tls = options_.tls;
  handle_options.log = log_bridge_.callback();
  if (handle_options.servers.empty()) {
    why = "none of the hosts " + hosts.servers_text() +
          " could be resolved; check ClientOptions::hosts";
    return nullptr;
  }
  return ZkHandle::open(handle_options, *this, why);
}

bool ZkCoordinator::open() {
  const Instant began = boot_time();
  std::string why;
  std::unique_ptr<ZkHandle> handle = open_handle(why);
  // Usually this adds all credentials. If the first attempt to connect has already failed,
  // on_connected() adds the rest. In both cases they are added before any request.
  if (handle) (void)handle->authenticate(credentials_);
  if (!handle) log_warn(why);

  const MutexLock guard(mutex_);
  assert(phase_ == Phase::none && !handle_);
  open_error_ = why;
  if (!handle) return false;
  handle_ = std::move(handle);
  opened_at_ = boot_time();  // the resolver can have blocked
  attempt_began_ = began;
  last_contact_ = began;
  phase_ = Phase::connecting;
  opened_.notify_all();
  local_replies_.poke();  // the local-reply thread follows the next handshake from now on
  return true;
}

void ZkCoordinator::refresh_servers() {
  ZkHandle* handle = nullptr;
  {
    const MutexLock guard(mutex_);
    // An earlier handle can be calling: its close hangs.
    if (!std::ranges::all_of(hanging_, [](const auto& each) { return each.expired(); })) return;
    // The handle outlives this call: its destructor waits for the I/O thread.
    if (!handle_ || handle_->is_connected()) return;
    handle = handle_.get();
  }
  const std::string servers = present_hosts().for_c_client();  // may block in the resolver
  if (!servers.empty()) handle->set_servers(servers);
}

std::size_t ZkCoordinator::hanging_handles() {
  const MutexLock guard(mutex_);
  std::erase_if(hanging_, [](const auto& each) { return each.expired(); });
  return hanging_.size();
}

void ZkCoordinator::close_handle(std::unique_ptr<ZkHandle> handle) {
  // Without a shared owner this runs in the destructor.
  auto user = options_.tls && handle ? weak_from_this().lock() : nullptr;
  if (!user) return;  // destroys the handle
  auto hanging = ZkHandle::close_within_limit(std::move(handle), std::move(user));
  const MutexLock guard(mutex_);
  hanging_.push_back(std::move(hanging));
}

void ZkCoordinator::wait_for_callbacks() const noexcept {
  for (int running = callbacks_running_; running > 0; running = callbacks_running_) {
    callbacks_running_.wait(running);
  }
}

void ZkCoordinator::replace_overdue_handle() {
  if (!options_.tls) return;
  {
    const MutexLock guard(mutex_);
    if (phase_ != Phase::connecting || boot_time() < opened_at_ + options_.session_timeout) return;
    phase_ = Phase::dead;
  }
  log_warn("no TLS connection to " + present_hosts().servers_text() + " within " +
           std::to_string(options_.session_timeout.count()) + " ms; another attempt begins");
  session_thread_.retire(SessionThread::Next::later);
}

}  // namespace zklock::client
