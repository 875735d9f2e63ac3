// SPDX-License-Identifier: Apache-2.0
// The session thread, and how it opens, replaces and closes a handle of the C client.
#include <algorithm>
#include <cassert>
#include <functional>
#include <iterator>
#include <utility>

#include "zklock/client/port/scheduler.h"
#include "zklock/client/threads/backoff.h"
#include "zklock/client/zookeeper/quirks/tls_files.h"
#include "zklock/client/zookeeper/zk_coordinator.h"

namespace zklock::client {
namespace {

// Each handle whose close hangs has three threads.
constexpr std::size_t kMostHanging = 16;

}  // namespace

void ZkCoordinator::run_sessions(Backoff& pauses) {
  MutexLock lock(mutex_);
  while (!closing_) {
    lock.unlock();
    const bool is_open = open();
    lock.lock();
    if (is_open) {
      while (!closing_ && !is_retired_) changed_.wait(mutex_);
      const bool lived_long =
          session_ != SessionId{} && boot_time() - connected_since_ > options_.retry_delay_max;
      lock.unlock();
      shut();
      lock.lock();
      if (credential_refused_) return;
      is_retired_ = false;
      if (lived_long) pauses.reset();
    }
    changed_.wait_until(mutex_, std::chrono::steady_clock::now() + pauses.next(),
                        [this]() ZKLOCK_REQUIRES(mutex_) { return closing_; });
  }
}

void ZkCoordinator::retire() {
  const MutexLock guard(mutex_);
  is_retired_ = true;
  changed_.notify_all();
}

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
  std::string servers = hosts.for_c_client();  // may block in the resolver
  if (servers.empty()) {
    why = "none of the hosts " + hosts.servers_text() +
          " could be resolved; check ClientOptions::hosts";
    return nullptr;
  }
  return ZkHandle::open({.servers = std::move(servers),
                         .session_timeout = options_.session_timeout,
                         .tls = options_.tls,
                         .log = log_bridge_.callback()},
                        *this, why);
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
  changed_.notify_all();
  check_soon();  // the local-reply thread follows the next handshake from now on
  return true;
}

void ZkCoordinator::shut() {
  std::unique_ptr<ZkHandle> handle;
  SessionId session;
  bool alive = false;
  {
    const MutexLock guard(mutex_);
    alive = phase_ != Phase::dead;
    // Only close() ends a live session. All replies from now on are `closed`.
    if (alive) withheld_.emplace();
    phase_ = Phase::dead;
    session = session_;
  }
  if (alive) notify_ended(session, Status::closed);
  {
    const MutexLock guard(mutex_);
    if (alive) drain();
    handle = std::move(handle_);
  }
  close_handle(std::move(handle));
  CallsById lost;  // destroyed unlocked: a call can own any object

  // Without a gap until session_ has changed. A call that names the old session and is queued in
  // a gap would be sent on the next session.
  const MutexLock guard(mutex_);
  lost = take_sent_calls();
  Status status = Status::session_ended;
  if (credential_refused_) status = Status::auth_failed;
  if (closing_) status = Status::closed;
  const std::string detail = status == Status::auth_failed ? refused_text() : std::string();
  for (const auto& [id, call] : lost) answer(call, status, detail);
  if (!hanging_.empty() && !hanging_.back().has_ended()) hanging_.back().calls.swap(lost);
  if (session != SessionId{}) {
    answer_queued([session](const Call& call) { return call.header().session == session; }, status,
                  detail);
  }
  watches_.clear();
  nodes_.clear();
  session_ = {};
  phase_ = Phase::none;
  if (credential_refused_) answer_queued(any_call, Status::auth_failed, connection_problem_text());
  check_soon();
}

void ZkCoordinator::drain() {
  // If replies are still in flight, the C client closes its socket before it has read them. The
  // connection is then reset, and the server drops the request to close the session. The session
  // would remain, with all its znodes, until its timeout.
  constexpr std::chrono::seconds kLongestDrain{1};
  changed_.wait_until(
      mutex_, std::chrono::steady_clock::now() + kLongestDrain,
      [this]() ZKLOCK_REQUIRES(mutex_) { return pending_.empty() || !handle_->is_connected(); });
}

std::map<RequestId, ZkCoordinator::CallPtr> ZkCoordinator::take_sent_calls() {
  CallsById lost = std::exchange(withheld_, std::nullopt).value_or(CallsById());
  for (PendingRequest& pending : pending_.take_all()) {
    const RequestId id = pending.call->id();
    lost.emplace(id, std::move(pending.call));  // one call may have several pending requests
  }
  return lost;
}

void ZkCoordinator::refresh_servers() {
  ZkHandle* handle = nullptr;
  {
    const MutexLock guard(mutex_);
    // An earlier handle can be calling: its close hangs.
    if (!std::ranges::all_of(hanging_, &HangingHandle::has_ended)) return;
    // The handle outlives this call: its destructor waits for the I/O thread.
    if (!handle_ || handle_->is_connected()) return;
    handle = handle_.get();
  }
  const std::string servers = present_hosts().for_c_client();  // may block in the resolver
  if (!servers.empty()) handle->set_servers(servers);
}

std::size_t ZkCoordinator::hanging_handles() {
  std::vector<HangingHandle> ended;  // destroyed unlocked: a call can own any object
  const MutexLock guard(mutex_);
  const auto first =
      std::partition(hanging_.begin(), hanging_.end(), std::not_fn(&HangingHandle::has_ended));
  std::move(first, hanging_.end(), std::back_inserter(ended));
  hanging_.erase(first, hanging_.end());
  return hanging_.size();
}

void ZkCoordinator::close_handle(std::unique_ptr<ZkHandle> handle) {
  // Without a shared owner this runs in the destructor.
  auto user = options_.tls && handle ? weak_from_this().lock() : nullptr;
  if (!user) return;  // destroys the handle
  auto hanging = ZkHandle::close_within_limit(std::move(handle), std::move(user));
  const MutexLock guard(mutex_);
  hanging_.push_back({std::move(hanging)});
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
  retire();
}

}  // namespace zklock::client
