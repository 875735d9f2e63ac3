// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/hold.h"
#include "zklock/lock_options.h"
#include "zklock/owner.h"
#include "zklock/participant.h"

namespace zklock {

namespace detail {
class LockHandle;
}

/// A fair, reentrant, fenced mutex over all processes that use one path of one ensemble.
///
/// Contenders are granted first come, first served. The class meets AcquiringLock, ReentrantLock
/// and QueuedLock, which state the contracts of its members; see lock_concepts.h.
///
/// Objects cannot be moved, like those of std::mutex. To keep several, use a container that does
/// not move its elements, for example std::map or std::deque:
/// @code
///   std::map<std::string, ReentrantMutex> accounts;
///   accounts.try_emplace("/accounts/7", client, "/accounts/7");
/// @endcode
///
/// A path can be shared with Curator's InterProcessMutex, and with Kazoo's Lock if it is given
/// extra_lock_patterns=["lock-"].
/// Source: org.apache.curator.framework.recipes.locks.InterProcessMutex.
/// Source: "ZooKeeper Recipes: Locks" of the ZooKeeper documentation.
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: an acquiring call that waits; see AcquiringLock.
class ZKLOCK_EXPORT ReentrantMutex {
 public:
  /// Makes a mutex on `path`, an absolute path below the chroot. See QueuedLock.
  ReentrantMutex(Client& client, std::string path, const CohortOptions& options = {});
  ReentrantMutex(const ReentrantMutex&) = delete;
  ReentrantMutex& operator=(const ReentrantMutex&) = delete;
  ~ReentrantMutex();

  /// See TimedLock. If the lock is free, lock() usually sends one or two pipelined requests and
  /// blocks for one round trip. Re-entry sends nothing.
  void lock();
  [[nodiscard]] bool try_lock();
  template <DurationLike D>
  [[nodiscard]] bool try_lock_for(D timeout) {
    return lock_until(Deadline(timeout), {});
  }
  template <TimePointLike T>
  [[nodiscard]] bool try_lock_until(T at) {
    return lock_until(Deadline(at), {});
  }
  [[nodiscard]] bool lock(std::stop_token stop);
  void unlock();

  /// See AcquiringLock.
  Hold acquire(AcquireOptions options = {});
  template <DeadlineLike D>
  Hold acquire(D deadline) {
    return acquire({.deadline = deadline});
  }
  void async_acquire(AcquireOptions options, AcquireHandler handler);
  template <std::convertible_to<AcquireHandler> H>
  void async_acquire(H handler) {
    async_acquire({}, AcquireHandler(std::move(handler)));
  }
  [[nodiscard]] std::future<Hold> async_acquire(AcquireOptions options = {});
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire(const AcquireOptions& options);
  Awaitable co_acquire(AcquireOptions&& options) = delete;

  /// See ReentrantLock.
  [[nodiscard]] bool is_held_by_this_thread() const;

  /// Returns how many times the calling thread holds: its lock() calls and the Holds acquired on
  /// its behalf. Returns 0 if it does not hold, or if the hold was lost. Does not block; sends
  /// nothing.
  [[nodiscard]] int hold_count() const;

  /// See QueuedLock.
  [[nodiscard]] std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;
  [[nodiscard]] std::optional<std::size_t> queue_position(
      std::optional<Owner> owner = std::nullopt, Deadline deadline = Deadline::never()) const;

  /// Returns the path of the lock, below the chroot.
  [[nodiscard]] const std::string& path() const noexcept;

 private:
  bool lock_until(Deadline deadline, std::stop_token stop);

  std::shared_ptr<detail::LockHandle> lock_handle_;
};

}  // namespace zklock
