// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/client_core.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <pthread.h>
#include <spdlog/logger.h>

#include "zklock/engine/callback/reliable_post.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/session/process_identity.h"
#include "zklock/engine/session/wait_in_slices.h"

namespace zklock::detail {

namespace {

/// Returns a prefix that no other client of this or another process uses.
std::string unique_prefix() {
  static std::atomic<std::uint64_t> clients{0};
  std::array<char, 40> text{};
  const int length = std::snprintf(text.data(), text.size(), "%016llx-%llu-",
                                   static_cast<unsigned long long>(process_id()),
                                   static_cast<unsigned long long>(++clients));
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string no_permission(const std::string& node, const std::string& parent) {
  return "the ACL of " + parent + " does not permit this client to delete its znode " + node +
         "; give this client DELETE on " + parent + ", or close the client";
}

std::array<char, 16> thread_name() {
  std::array<char, 16> name{};
  if (::pthread_getname_np(::pthread_self(), name.data(), name.size()) != 0) return {};
  return name;
}

}  // namespace

std::shared_ptr<ClientCore> ClientCore::make(Ports ports, Settings settings) {
  std::shared_ptr<ClientCore> core(new ClientCore(std::move(ports), std::move(settings)));
  core->coordinator().start(*core);
  return core;
}

ClientCore::ClientCore(Ports ports, Settings settings)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      pid_(process_identity().pid),
      birth_(fork_generation()),
      attempt_prefix_(unique_prefix()),
      node_deleter_(
          *ports_.coordinator, *ports_.scheduler,
          [this](const std::string& path, core::Status why) {
            warn("delete " + path + ": the servers refused (" + std::string(to_string(why)) +
                 "); delete this znode by hand, or give this client DELETE on its parent");
          }),
      keeper_(std::make_shared<LeaseKeeper>(*ports_.coordinator, *ports_.scheduler)),
      listeners_(ports_.dispatcher) {}

ClientCore::~ClientCore() = default;

void ClientCore::check_usable(const char* operation, const std::string& path) const {
  if (forked()) throw Error(Errc::forked, operation, path);
  if (closed()) throw Error(Errc::closed, operation, path);
}

void ClientCore::warn(const std::string& text) const noexcept {
  if (settings_.logger) settings_.logger->warn(core::printable(text, 1024));
}

void ClientCore::remove(SessionId session, NodeDeleter::Node node, NodeDeleter::Manner manner,
                        std::function<void()> gone, BackgroundWork::Id work) {
  if (closed()) return;
  const auto removal = std::make_shared<Removal>(
      Removal{.session = session, .node = {}, .work = {}, .gone = std::move(gone)});
  removal->work = work_.begin(work);
  try {
    send(removal, std::move(node), manner);
  } catch (...) {  // no memory: flush() must not wait for it
    work_.end(removal->work);
    throw;
  }
}

void ClientCore::remove(SessionId session, std::string path, BackgroundWork::Id work) {
  if (session == SessionId{}) return;  // the znode ended with its session
  remove(session, {.path = std::move(path)}, NodeDeleter::Manner::plainly, {}, work);
}

void ClientCore::send(const std::shared_ptr<Removal>& removal, NodeDeleter::Node node,
                      NodeDeleter::Manner manner) {
  node_deleter_.remove(
      removal->session, std::move(node), manner,
      [self = weak_from_this(), removal](NodeDeleter::End end, NodeDeleter::Node left) {
        if (removal->gone && end == NodeDeleter::End::gone) removal->gone();
        const auto alive = self.lock();
        if (!alive) return;
        if (end == NodeDeleter::End::refused) return alive->refused(removal, std::move(left));
        alive->removed(removal);
      });
}

void ClientCore::removed(const std::shared_ptr<Removal>& removal) {
  if (has_refused_) {
    const std::lock_guard guard(mutex_);
    std::erase(refused_removals_, removal);
    has_refused_ = !refused_removals_.empty();
  }
  work_.end(removal->work);
}

void ClientCore::refused(const std::shared_ptr<Removal>& removal, NodeDeleter::Node node) {
  std::shared_ptr<PathLock> path_lock;
  {
    std::unique_lock lock(mutex_);
    if (closed() || keeper_->session() != removal->session) {
      lock.unlock();
      return removed(removal);
    }
    auto& all = refused_removals_;
    if (std::ranges::find(all, removal) == all.end()) {
      removal->node = std::move(node);
      const auto path = std::string(removal->parent());
      const bool is_known =
          std::ranges::count(all, path, [](const auto& r) { return r->parent(); });
      const auto found = path_locks_.find(path);
      if (!is_known && found != path_locks_.end()) path_lock = found->second.lock();
      all.push_back(removal);
      has_refused_ = true;
    }
    removal->refused = true;
    work_.stall(removal->work);
  }
  if (!path_lock) return;
  const std::string parent(removal->parent());
  warn("delete " + removal->node.path + ": the ACL of " + parent +
       " does not permit it; the znode stays until the session ends or a delete succeeds. Until "
       "then flush() returns false, and acquires at " +
       parent + " throw no_auth. Give this client DELETE on " + parent);
  path_lock->fail_waiting(Errc::no_auth, no_permission(removal->node.path, parent));
}

std::shared_ptr<ClientCore::Removal> ClientCore::retry_removals(std::string_view parent) {
  std::vector<std::shared_ptr<Removal>> again;
  std::shared_ptr<Removal> last;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& removal : refused_removals_) {
      if (!parent.empty() && removal->parent() != parent) continue;
      last = removal;
      if (!removal->refused) continue;
      again.push_back(removal);
      removal->refused = false;
      work_.resume(removal->work);
    }
  }
  for (const auto& removal : again) {
    try {
      send(removal, removal->node, NodeDeleter::Manner::with_care);
    } catch (const std::exception&) {  // no memory: the next call tries again
      refused(removal, {});
    }
  }
  return last;
}

std::optional<Error> ClientCore::retry_refused_removals(const core::LockPath& path) {
  if (!has_refused_) return std::nullopt;
  const auto removal = retry_removals(path.str());
  if (!removal) return std::nullopt;
  return Error(Errc::no_auth, "lock", path.str(), no_permission(removal->node.path, path.str()));
}

// A delete that is under way again is not ended here, but by its own reply: see refused().
void ClientCore::end_refused_removals(SessionId session) noexcept {
  const std::lock_guard guard(mutex_);
  std::erase_if(refused_removals_, [&](const auto& removal) {
    if (removal->session != session || !removal->refused) return false;
    work_.resume(removal->work);
    work_.end(removal->work);
    return true;
  });
  has_refused_ = !refused_removals_.empty();
}

void ClientCore::counter_has_ended(const core::LockPath& path, bool ended) {
  const std::lock_guard guard(mutex_);
  if (ended) {
    ended_counters_.insert(path.str());
  } else {
    ended_counters_.erase(path.str());
  }
}

std::shared_ptr<PathLock> ClientCore::path_lock(const core::LockPath& path) {
  const std::lock_guard guard(mutex_);
  auto& lock_node = path_locks_[path.str()];
  if (auto path_lock = lock_node.lock()) return path_lock;
  auto path_lock =
      std::make_shared<PathLock>(shared_from_this(), path, ended_counters_.contains(path.str()));
  lock_node = path_lock;
  if (path_locks_.size() >= prune_at_) {
    std::erase_if(path_locks_, [](const auto& entry) { return entry.second.expired(); });
    prune_at_ = 2 * path_locks_.size() + 16;
  }
  return path_lock;
}

std::vector<std::shared_ptr<PathLock>> ClientCore::path_locks() {
  std::vector<std::shared_ptr<PathLock>> alive;
  const std::lock_guard guard(mutex_);
  for (const auto& [path, path_lock] : path_locks_) {
    if (auto shared = path_lock.lock()) alive.push_back(std::move(shared));
  }
  return alive;
}

Requester Requester::of_this_thread(const Owner& owner) {
  return {owner, thread_name()};
}

core::ZnodeData ClientCore::identify(const Requester& requester) const {
  return {.attempt = {},
          .owner = requester.owner.to_string(),
          .host = settings_.host,
          .thread = requester.thread.data(),
          .application = settings_.application,
          .pid = pid_,
          .announces = settings_.announces};
}

bool ClientCore::wait_until_connected(Deadline deadline) {
  check_usable("connect", settings_.hosts);
  std::unique_lock lock(mutex_);
  const auto decided = [&] { return connected_ || refused_ || closed(); };
  if (!wait_in_slices(changed_, lock, deadline, decided)) return false;
  if (closed()) throw Error(Errc::closed, "connect", settings_.hosts);
  if (refused_) throw Error(Errc::auth_failed, "connect", settings_.hosts);
  return true;
}

Subscription ClientCore::add_listener(std::function<void(ConnectionState)> listener) {
  check_usable("add a listener", settings_.hosts);
  return listeners_.add(std::move(listener));
}

bool ClientCore::flush(Deadline deadline) {
  for (const auto& path_lock : path_locks()) path_lock->settle();
  if (has_refused_) retry_removals({});
  return closed() || work_.wait(deadline);
}

void ClientCore::tell_of_sessions(const std::shared_ptr<NewSessionListener>& listener) {
  const std::lock_guard guard(mutex_);
  std::erase_if(session_listeners_, [](const auto& each) { return each.expired(); });
  session_listeners_.push_back(listener);
}

void ClientCore::tell_of_new_session() {
  std::vector<std::weak_ptr<NewSessionListener>> listeners;
  {
    const std::lock_guard guard(mutex_);
    listeners = session_listeners_;
  }
  for (const auto& each : listeners) {
    if (const auto listener = each.lock()) listener->session_began();
  }
}

void ClientCore::connected(const client::SessionInfo& session) {
  keeper_->connected(session);
  if (session.is_new) tell_of_new_session();
  // Before connected_ is set: a listener that is added after wait_until_connected() does not
  // receive this connection.
  listeners_.tell(session.is_new ? ConnectionState::connected : ConnectionState::reconnected);
  const std::lock_guard guard(mutex_);
  connected_ = true;
  changed_.notify_all();
}

void ClientCore::suspended(SessionId session) {
  keeper_->suspended(session);
  {
    const std::lock_guard guard(mutex_);
    connected_ = false;
  }
  listeners_.tell(ConnectionState::suspended);
}

void ClientCore::ended(SessionId session, core::Status why) {
  keeper_->ended(session);
  end_refused_removals(session);
  {
    const std::lock_guard guard(mutex_);
    connected_ = false;
    refused_ = refused_ || why == core::Status::auth_failed;
    changed_.notify_all();
  }
  listeners_.tell(ConnectionState::lost);
}

void ClientCore::answered(SessionId session, Instant sent_at, bool by_quorum) {
  keeper_->answered(session, sent_at, by_quorum);
}

void ClientCore::close() noexcept {
  if (closed_.exchange(true)) {
    // The first close() may be waiting for this thread.
    if (ports_.in_callback() || ReliablePost::runs_here()) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return close_done_; });
    return;
  }
  for (const auto& path_lock : path_locks()) path_lock->close();
  keeper_->stop();
  ports_.finish_losses(untold_losses_);
  ports_.coordinator->close();
  ports_.stop_threads();
  ports_.coordinator->close();  // again: answers what the last timers submitted
  work_.close();
  const std::lock_guard guard(mutex_);
  connected_ = false;
  close_done_ = true;
  changed_.notify_all();
}

}  // namespace zklock::detail
