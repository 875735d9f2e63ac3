// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/client_core.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "zklock/core/health_rules.h"
#include "zklock/core/log_line.h"
#include "zklock/engine/callback/post_or_run.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/engine/wait_description.h"

namespace zklock::detail {

namespace {

void add(DurationHistogram& sum, const DurationHistogram& more) {
  for (std::size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += more.counts[i];
  sum.sum += more.sum;
}

/// After so many paths and contenders, metrics() releases the engine mutex for a moment.
constexpr std::size_t kMostAtOnce = 128;

/// Returns the requests of which at least one was answered, by name.
std::vector<RequestMetrics> by_name(const client::CoordinatorStats& stats) {
  std::vector<RequestMetrics> requests;
  for (std::size_t i = 0; i < client::kOperationNames.size(); ++i) {
    if (stats.requests.at(i).count() == 0) continue;
    const std::string_view name = client::kOperationNames.at(i);
    auto known = std::ranges::find(requests, name, &RequestMetrics::operation);
    if (known == requests.end()) {
      requests.push_back({.operation = name});
      known = requests.end() - 1;
    }
    add(known->durations, stats.requests.at(i));
  }
  std::ranges::sort(requests, {}, &RequestMetrics::operation);
  return requests;
}

}  // namespace

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
  if (is_describing_.exchange(true)) return false;
  std::shared_ptr<void> turn(nullptr,
                             [this, self = shared_from_this()](void*) { is_describing_ = false; });
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
  for (const auto& path_lock : path_locks()) path_lock->check_clocks();
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

// ---- what the client reports --------------------------------------------------------------------

ClientMetrics ClientCore::metrics() {
  if (forked()) throw Error(Errc::forked, "read the metrics of", hosts());
  ClientMetrics all;
  LabelStates states;
  const auto paths = path_locks();
  for (std::size_t next = 0; next < paths.size();) {
    const EngineLock lock({*this});
    for (std::size_t read = 0; read < kMostAtOnce && next < paths.size(); ++next) {
      read += 1 + paths[next]->add_to(states);
    }
  }
  std::vector<std::pair<std::string, const LabelMetrics*>> labels;
  {
    const EngineLock lock({*this});
    labels = records().labels.all();
    all.lease_remaining = keeper().lease_remaining();
    all.heartbeat_failures = keeper().heartbeat_failures();
    all.low_leases = keeper().low_leases();
    all.pending_deletes = work().size();
    all.refused_deletes = cleaner().refused();
    all.connected = connected_;
    all.sessions = sessions_;
    all.reconnects = reconnects_;
  }
  for (const auto& [label, counts] : labels) {
    LockMetrics& lock = all.locks.emplace_back(counts->read(label));
    const auto state = states.find(counts);
    if (state == states.end()) continue;
    lock.holds = state->second.holds;
    lock.waiters = state->second.waiters;
    lock.leaders = state->second.leaders;
    lock.oldest_hold = state->second.oldest_hold;
    lock.oldest_wait = state->second.oldest_wait;
  }
  all.session_timeout = keeper().timeout();
  const client::CoordinatorStats stats = coordinator().stats();
  all.requests = by_name(stats);
  all.node_bytes = stats.node_bytes;
  all.node_limit_bytes = stats.node_limit_bytes;
  all.watch_bytes = stats.watch_bytes;
  all.watch_limit_bytes = stats.watch_limit_bytes;
  for (const client::Dispatcher* each : {&dispatcher(), &loss_dispatcher()}) {
    const client::Backlog backlog = each->backlog();
    all.queued_callbacks += backlog.waiting;
    all.longest_callback_wait = std::max(all.longest_callback_wait, backlog.oldest);
  }
  return all;
}

Health ClientCore::health() {
  if (forked()) throw Error(Errc::forked, "check the health of", hosts());
  core::HealthFacts facts;
  facts.closed = closed();
  facts.timeout = keeper().timeout();
  facts.connection_problem = coordinator().connection_problem();
  const client::CoordinatorStats stats = coordinator().stats();
  facts.node_bytes = stats.node_bytes;
  facts.node_limit_bytes = stats.node_limit_bytes;
  facts.watch_bytes = stats.watch_bytes;
  facts.watch_limit_bytes = stats.watch_limit_bytes;
  {
    const EngineLock lock({*this});
    const Instant now = scheduler().now();
    const auto callback = records().callbacks.oldest();
    if (callback) facts.oldest_callback.emplace(callback->first, now - callback->second);
    facts.lease_left = keeper().lease_remaining();
    facts.refused_deletes = cleaner().refused();
    facts.connected = connected_;
    facts.auth_refused = refused_;
    if (disconnected_since_) facts.disconnected_for = now - *disconnected_since_;
    for (std::size_t i = 0; i < session_began_.size(); ++i) {
      if (session_began_.at(i)) facts.session_ages.at(i) = now - *session_began_.at(i);
    }
  }
  return core::judge(facts);
}

}  // namespace zklock::detail
