// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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

/// A reentrant, fenced mutex over all processes. Heavier contenders are served first, within the
/// limit of PriorityOptions::ageing. Contenders of equal weight are served in the order of arrival.
/// A holder is never displaced.
///
/// Contenders first wait in a queue of their own on the same path, the gate. It has the order
/// above. When the mutex is free, the first of them passes the gate. For that, one multi deletes
/// its znode at the gate and creates a znode of an ordinary mutex on the same path. So every list
/// of the children shows the contender exactly once.
///
/// Exclusion does not depend on weights: it is that of ReentrantMutex. A path can be shared with
/// ReentrantMutex and with Curator's mutex. Their contenders have no weight and are served before
/// all contenders at the gate.
///
/// Tokens rise in the order of grants, although that is not the order of arrival. The token is that
/// of the znode created when the contender passes the gate.
///
/// A contender that has passed the gate is not overtaken by later ones. If two contenders see the
/// mutex free at one moment, both pass. The one that passed first is granted first, the second one
/// next. A contender waits at the gate again only if its session ends or its znode is deleted.
///
/// A free lock costs four round trips; re-entry sends nothing. A waiter watches one znode. A
/// hand-off wakes the first contender at the gate. The first contender at the gate watches the
/// mutex. If it is overtaken, that watch remains, so the hand-off wakes it, too.
/// Sources: the weights of WLock; "ZooKeeper Recipes: Priority Queues".
///
/// The class meets AcquiringLock, ReentrantLock and QueuedLock, which state the contracts of its
/// members; see lock_concepts.h. Differences:
///
/// | member         | difference                                                              |
/// |----------------|-------------------------------------------------------------------------|
/// | acquiring call | throws invalid_option for a weight out of range, and sends nothing      |
/// | acquiring call | throws settings_mismatch if an earlier contender uses another ageing    |
/// | participants() | lists the holder, the contenders that have passed the gate, and those   |
/// |                | at the gate, in the order in which they would be served at this moment  |
///
/// Objects cannot be moved; see ReentrantMutex for containers.
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: an acquiring call that waits; see AcquiringLock.
class ZKLOCK_EXPORT PriorityMutex {
 public:
  /// Makes a mutex on `path`. See QueuedLock.
  PriorityMutex(Client& client, std::string path, const PriorityOptions& options = {});
  PriorityMutex(const PriorityMutex&) = delete;
  PriorityMutex& operator=(const PriorityMutex&) = delete;
  ~PriorityMutex();

  /// See TimedLock. These functions use PriorityOptions::weight.
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

  /// See AcquiringLock. The default of `weight` is PriorityOptions::weight. Calls of one owner
  /// share one contender, which has the weight of the first call. If the first call is a single
  /// attempt and fails, the concurrent calls of that owner share a new contender. It has the weight
  /// of the earliest of them.
  Hold acquire(AcquireOptions options = {}, std::optional<int> weight = std::nullopt);
  template <DeadlineLike D>
  Hold acquire(D deadline, std::optional<int> weight = std::nullopt) {
    return acquire({.deadline = deadline}, weight);
  }
  void async_acquire(AcquireOptions options, std::optional<int> weight, AcquireHandler handler);
  void async_acquire(AcquireOptions options, AcquireHandler handler) {
    async_acquire(std::move(options), std::nullopt, std::move(handler));
  }
  template <std::convertible_to<AcquireHandler> H>
  void async_acquire(H handler) {
    async_acquire({}, AcquireHandler(std::move(handler)));
  }
  [[nodiscard]] std::future<Hold> async_acquire(AcquireOptions options = {},
                                                std::optional<int> weight = std::nullopt);
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {},
                       std::optional<int> weight = std::nullopt);
  Awaitable co_acquire(const AcquireOptions& options, std::optional<int> weight = std::nullopt);
  Awaitable co_acquire(AcquireOptions&& options, std::optional<int> weight = std::nullopt) = delete;

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

  const int weight_;
  const int ageing_;  ///< 0: strictly by weight
  std::shared_ptr<detail::LockHandle> lock_handle_;
};

}  // namespace zklock
