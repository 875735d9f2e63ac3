// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "chaos/collector_link.h"
#include "chaos/workload.h"
#include "zklock/zklock.h"

namespace zklock::chaos {

// The lock objects of one client, which its threads share. There is one for each path of the
// workload, except the leader's. Their listeners report losses to the collector.
//
// Thread-safety: all members may be called by any thread.
class Locks {
 public:
  Locks(Client& client, CollectorLink& link);

  // REQUIRES: the lock is of this kind.
  ReentrantMutex& mutex(std::size_t lock) { return *std::get<Mutex>(all_.at(lock)); }
  SharedMutex& shared(std::size_t lock) { return *std::get<Shared>(all_.at(lock)); }
  Semaphore& semaphore(std::size_t lock) { return *std::get<Sem>(all_.at(lock)); }
  PriorityMutex& priority(std::size_t lock) { return *std::get<Priority>(all_.at(lock)); }

  // Returns the full paths of all znodes in the queues that belong to the client's session, as the
  // servers list them.
  std::vector<std::string> own_nodes();

  // Returns whether the listener of the lock was called for the loss of this grant.
  bool loss_received(std::size_t lock, const Owner& owner, const FencingToken& token) const;

 private:
  using Mutex = std::unique_ptr<ReentrantMutex>;
  using Shared = std::unique_ptr<SharedMutex>;
  using Sem = std::unique_ptr<Semaphore>;
  using Priority = std::unique_ptr<PriorityMutex>;
  using Any = std::variant<std::monostate, Mutex, Shared, Sem, Priority>;

  using Loss = std::tuple<std::size_t, Owner, FencingToken>;

  Any make(Client& client, std::size_t lock);
  LockOptions options_of(std::size_t lock);
  void hear_of_loss(std::size_t lock, const LockEvent& event);

  Client& client_;
  CollectorLink& link_;
  mutable std::mutex mutex_;
  std::set<Loss> losses_;                  // guarded by mutex_
  std::array<Any, kWorkload.size()> all_;  // last: the listeners use the other members
};

}  // namespace zklock::chaos
