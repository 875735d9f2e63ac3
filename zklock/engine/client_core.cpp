// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/client_core.h"

#include <utility>

#include "zklock/core/log_line.h"
#include "zklock/engine/callback/post_or_run.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/engine/wait_description.h"

namespace zklock::detail {

std::shared_ptr<ClientCore> ClientCore::make(Ports ports, Settings settings) {
  std::shared_ptr<ClientCore> core(new ClientCore(std::move(ports), std::move(settings)));
  try {
    core->coordinator().start(*core);
  } catch (...) {
    core->close();  // ends the threads that have started
    throw;
  }
  return core;
}

ClientCore::ClientCore(Ports ports, Settings settings)
    : EngineContext(std::move(ports), std::move(settings)), listeners_(this->ports().dispatcher) {}

void ClientCore::set_hosts(const std::string& hosts) {
  check_usable("set hosts", this->hosts());
  EngineLock lock({*this});  // two calls at the same time take effect in one order
  lock.permit_exceptions();
  coordinator().set_hosts(hosts);
  present_hosts().set(hosts);
}

void ClientCore::deletion_refused(const std::string& path, const std::string& node,
                                  const std::string& cause) {
  std::shared_ptr<PathLock> path_lock;
  {
    const EngineLock lock({*this});
    path_lock = find(path);
  }
  if (!path_lock) return;
  warn(
      core::log_line("delete", node,
                     "the ACL of its parent does not permit it; the znode stays until the session "
                     "ends or a delete succeeds. Until then flush() returns false, and acquires at "
                     "the parent throw no_auth. Give this client DELETE on the parent",
                     {}));
  path_lock->fail_waiting(Errc::no_auth, cause);
}

// One at a time, so that a client with many paths does not read many queues at once.
bool ClientCore::describe_wait(const core::LockPath& path) {
  if (describes_wait_.exchange(true)) return false;
  std::shared_ptr<void> turn(nullptr,
                             [this, self = shared_from_this()](void*) { describes_wait_ = false; });
  detail::describe_wait(find(path.str()), std::move(turn));
  return true;
}

std::shared_ptr<PathLock> ClientCore::find(const std::string& path) const {
  const auto found = path_locks_.find(path);
  return found == path_locks_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<PathLock> ClientCore::path_lock(const core::LockPath& path) {
  EngineLock lock({*this});
  lock.permit_exceptions();  // a public constructor calls this
  auto& known = path_locks_[path.str()];
  if (auto path_lock = known.lock()) return path_lock;
  auto path_lock =
      std::make_shared<PathLock>(shared_from_this(), path, path_facts().has_counter_ended(path));
  known = path_lock;
  if (path_locks_.size() >= prune_at_) {
    std::erase_if(path_locks_, [](const auto& entry) { return entry.second.expired(); });
    prune_at_ = 2 * path_locks_.size() + 16;
  }
  return path_lock;
}

std::shared_ptr<PathLock> ClientCore::usable_path_lock(const char* operation, std::string path) {
  const core::LockPath checked(std::move(path));
  check_usable(operation, checked.str());
  return path_lock(checked);
}

std::vector<std::shared_ptr<PathLock>> ClientCore::path_locks() {
  std::vector<std::shared_ptr<PathLock>> alive;
  const EngineLock lock({*this});
  for (const auto& [path, path_lock] : path_locks_) {
    if (auto shared = path_lock.lock()) alive.push_back(std::move(shared));
  }
  return alive;
}

bool ClientCore::wait_until_connected(Deadline deadline) {
  check_usable("connect", hosts());
  {
    EngineLock lock({*this});
    const auto decided = [&] { return connected_ || refused_ || closed(); };
    if (!lock.wait(changed_, deadline, decided)) return false;
    if (connected_ && !closed()) return true;
  }
  check_usable("connect", hosts());
  throw Error(Errc::auth_failed, "connect", hosts(), coordinator().connection_problem());
}

Subscription ClientCore::add_listener(std::function<void(ConnectionState)> listener) {
  check_usable("add a listener", hosts());
  return listeners_.add(std::move(listener));
}

bool ClientCore::flush(Deadline deadline) {
  for (const auto& path_lock : path_locks()) path_lock->settle();
  BackgroundWork::Id newest{};
  {
    const EngineLock lock({*this});
    cleaner().retry_all();
    newest = work().newest();
  }
  return closed() || wait_for_work(deadline, newest);
}

bool ClientCore::wait_for_work(Deadline deadline, BackgroundWork::Id last) {
  EngineLock lock({*this});
  const auto settled = [&] { return work().is_settled(last); };
  return lock.wait(work().changed(), deadline, settled) && work().has_ended(last);
}

void ClientCore::on_connected(const client::SessionInfo& session) {
  keeper().on_connected(session);
  if (session.is_new) notify_session_listeners();
  // Before connected_ is set: a listener that is added after wait_until_connected() does not
  // receive this connection.
  listeners_.notify(session.is_new ? ConnectionState::connected : ConnectionState::reconnected);
  const Instant now = scheduler().now();
  const EngineLock lock({*this});
  connected_ = true;
  if (session.is_new) session_began_.at(sessions_ % session_began_.size()) = now;
  ++(session.is_new ? sessions_ : reconnects_);
  changed_.notify_all();
}

void ClientCore::on_suspended(SessionId session) {
  keeper().on_suspended(session);
  const Instant now = scheduler().now();
  {
    const EngineLock lock({*this});
    connected_ = false;
    disconnected_since_ = now;
  }
  listeners_.notify(ConnectionState::suspended);
}

void ClientCore::on_ended(SessionId session, core::Status why) {
  keeper().on_ended(session);
  {
    const EngineLock lock({*this});
    cleaner().session_ended(session);
    if (std::exchange(connected_, false)) disconnected_since_ = scheduler().now();
    refused_ = refused_ || why == core::Status::auth_failed;
    changed_.notify_all();
  }
  listeners_.notify(ConnectionState::lost);
}

void ClientCore::on_answered(SessionId session, Instant sent_at, core::AnsweredBy by) {
  keeper().on_answered(session, sent_at, by);
}

void ClientCore::close() noexcept {
  if (set_closed()) {
    // The first close() may be waiting for this thread.
    if (ports().in_callback() || runs_in_post_or_run()) return;
    EngineLock lock({*this});
    lock.wait(changed_, Deadline::never(), [this] { return close_done_; });
    return;
  }
  for (const auto& path_lock : path_locks()) path_lock->close();
  keeper().stop();
  ports().finish_losses();
  coordinator().close();
  ports().stop_threads();
  finish_log();
  coordinator().close();  // again: answers what the last timers submitted
  const EngineLock lock({*this});
  work().close();
  connected_ = false;
  close_done_ = true;
  changed_.notify_all();
}

}  // namespace zklock::detail
