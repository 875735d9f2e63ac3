// SPDX-License-Identifier: Apache-2.0
#include "chaos/locks.h"

#include <chrono>
#include <sstream>
#include <string>

namespace zklock::chaos {
namespace {

constexpr std::chrono::seconds kQueryTimeout{20};

}  // namespace

Locks::Locks(Client& client, CollectorLink& link) : client_(client), link_(link) {
  for (std::size_t i = 0; i < kWorkload.size(); ++i) all_.at(i) = make(client, i);
}

std::vector<std::string> Locks::own_nodes() {
  std::vector<std::string> nodes;
  const auto collect = [&nodes, session = client_.session_id()](const auto& lock) {
    for (const Participant& each : lock.participants(kQueryTimeout)) {
      // Not `mine`: that covers only the znodes that the client knows of.
      if (each.session_id == session) nodes.push_back(lock.path() + '/' + each.node);
    }
  };
  for (std::size_t i = 0; i < kWorkload.size(); ++i) {
    switch (kWorkload.at(i).kind) {
      case Kind::mutex:
      case Kind::idle_lock:
      case Kind::cohort: collect(*std::get<Mutex>(all_.at(i))); break;
      case Kind::shared: collect(*std::get<Shared>(all_.at(i))); break;
      case Kind::semaphore: collect(*std::get<Sem>(all_.at(i))); break;
      case Kind::priority: collect(*std::get<Priority>(all_.at(i))); break;
      case Kind::latch: collect(ReentrantMutex(client_, kWorkload.at(i).path)); break;
    }
  }
  return nodes;
}

bool Locks::loss_received(std::size_t lock, const Owner& owner, const FencingToken& token) const {
  const std::lock_guard guard(mutex_);
  return losses_.contains({lock, owner, token});
}

LockOptions Locks::options_of(std::size_t lock) {
  LockOptions options;
  options.listener = [this, lock](const LockEvent& event) {
    if (event.kind == LockEvent::Kind::lost) hear_of_loss(lock, event);
  };
  return options;
}

void Locks::hear_of_loss(std::size_t lock, const LockEvent& event) {
  std::ostringstream line;
  line << "L " << lock << ' ' << std::hash<Owner>{}(event.owner) << ' ' << event.token.zxid << ' '
       << event.token.grant_index;
  link_.send_line(line.str());
  const std::lock_guard guard(mutex_);
  losses_.emplace(lock, event.owner, event.token);
}

Locks::Any Locks::make(Client& client, std::size_t lock) {
  const Site& site = kWorkload.at(lock);
  const std::string path = site.path;
  const LockOptions options = options_of(lock);
  CohortOptions shared = options;
  switch (site.kind) {
    case Kind::mutex: return std::make_unique<ReentrantMutex>(client, path, options);
    case Kind::idle_lock:
      shared.keep_idle_for = std::chrono::milliseconds(200);
      shared.max_local_handoffs = 8;
      return std::make_unique<ReentrantMutex>(client, path, shared);
    case Kind::cohort:
      shared.max_local_handoffs = 4;
      return std::make_unique<ReentrantMutex>(client, path, shared);
    case Kind::shared: return std::make_unique<SharedMutex>(client, path, options);
    case Kind::semaphore: return std::make_unique<Semaphore>(client, path, site.capacity, options);
    case Kind::priority:
      return std::make_unique<PriorityMutex>(client, path,
                                             PriorityOptions{.listener = options.listener});
    case Kind::latch: return std::monostate();
  }
  return std::monostate();
}

}  // namespace zklock::chaos
