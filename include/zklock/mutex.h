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

/// A fair, fenced mutex over all processes. Unlike the other mutexes of zklock, it is not
/// reentrant. It belongs to no thread: any thread may release it. A thread that locks it a second
/// time waits as any other contender does: for ever, if no other thread unlocks. The class is for
/// work that one thread begins and another thread ends.
///
/// The class meets AcquiringLock, TimedLock and QueuedLock, which state the contracts of its
/// members; see lock_concepts.h. These differ:
/// - The owner in AcquireOptions does not nest. It identifies the contender for queue_position(),
///   and for people, in the znode.
/// - No call throws lock_lost or would_deadlock.
/// - Any thread may unlock(). The exit of a thread releases nothing, and causes no lock delay.
/// - The destructor releases everything that lock() acquired through this object.
///
/// Every lock class that can share a path with ReentrantMutex can share it with Mutex, too. All
/// their contenders are in one queue. Objects cannot be moved; see ReentrantMutex for containers.
/// Source: org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex.
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: an acquiring call that waits; see AcquiringLock.
class ZKLOCK_EXPORT Mutex {
 public:
  /// Makes a mutex on `path`. See QueuedLock.
  Mutex(Client& client, std::string path, const CohortOptions& options = {});
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  /// Releases everything that lock() acquired through this object. A waiting lock() throws
  /// Error(closed), and a grant that arrives at that moment is released. Holds are not affected.
  ~Mutex();

  /// See TimedLock.
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

  /// Releases one grant that lock() or a variant of it made through this object. Prefers a grant of
  /// the calling thread; if there is none, releases the oldest. Several grants exist only after a
  /// loss: a lost grant remains until its unlock(), and lock() can make another one. Does not
  /// block; any thread may call it. After a loss it reports no error.
  /// Throws: Error(not_owner) if there is no grant; nothing is changed. Error(forked).
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

  /// Returns whether a lock() through this object holds with a valid lease. Other holders of the
  /// path do not count. Returns false in a forked child. Does not block; sends nothing.
  [[nodiscard]] bool is_locked() const;

  /// See QueuedLock.
  [[nodiscard]] std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;
  [[nodiscard]] std::optional<std::size_t> queue_position(
      std::optional<Owner> owner = std::nullopt, Deadline deadline = Deadline::never()) const;

  /// Returns the path of the lock, below the chroot.
  [[nodiscard]] const std::string& path() const noexcept;

 private:
  struct ZKLOCK_HIDDEN State;

  bool lock_until(Deadline deadline, std::stop_token stop);

  /// Shared with running calls, which can outlive this object.
  std::shared_ptr<State> state_;
};

}  // namespace zklock
