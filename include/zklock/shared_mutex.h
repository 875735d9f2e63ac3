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

/// A fair, reentrant, fenced read/write lock over all processes. It is held by one writer, or by
/// any number of readers.
///
/// | lock of the owner | requests a read lock              | requests a write lock             |
/// |-------------------|-----------------------------------|-----------------------------------|
/// | none              | waits for the writers ahead of it | waits for all contenders ahead    |
/// | read              | granted at once                   | throws would_deadlock             |
/// | write             | granted at once: the write lock   | granted at once                   |
/// |                   | covers it                         |                                   |
/// | read, after a     | granted at once                   | throws would_deadlock             |
/// | downgrade         |                                   |                                   |
///
/// Readers and writers are granted first come, first served: neither can starve the other.
///
/// To downgrade, lock shared while holding the write lock, then unlock the write lock. To release
/// both locks without a downgrade, release the read lock first. The owner retains its position in
/// the queue and its fencing token, so no waiting writer is granted in between. Readers that wait
/// behind the owner are granted if no other writer is ahead of them.
///
/// The downgrade takes one request in the background, which gives the owner another znode; see
/// Hold::node(). Client::flush() waits for it. If the servers refuse it, for example because of a
/// quota, the refusal is logged. Other contenders then wait as if the owner still held the write
/// lock. A write lock that was acquired through a ReentrantMutex on the path is not downgraded. Its
/// owner excludes all others until the read lock is released, too.
///
/// A writer watches the contender directly ahead of it. A reader watches the nearest writer ahead
/// of it. So the release of an earlier writer does not wake the reader. Tokens rise from one writer
/// to the next writer, and from a writer to the readers behind it. Readers that hold together have
/// different tokens.
///
/// A path can be shared with Curator's InterProcessReadWriteLock. ReentrantMutex and Mutex on the
/// path count as writers.
/// Source: org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock.
/// Source: java.util.concurrent.locks.ReentrantReadWriteLock.
/// Source: "ZooKeeper Recipes: Shared Locks".
///
/// The class meets AcquiringLock, ReentrantLock and QueuedLock, which state the contracts of its
/// members; see lock_concepts.h. The functions with `_shared` are for the read lock, and have these
/// contracts, too. std::shared_lock and boost::shared_lock work. Objects cannot be moved; see
/// ReentrantMutex for containers.
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: an acquiring call that waits; see AcquiringLock.
class ZKLOCK_EXPORT SharedMutex {
 public:
  /// Makes a lock on `path`. See QueuedLock.
  SharedMutex(Client& client, std::string path, const ExclusiveOptions& options = {});
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;
  ~SharedMutex();

  /// Acquire and release the write lock. See TimedLock. If the lock is free, lock() usually sends
  /// one or two pipelined requests and blocks for one round trip. unlock() does not affect
  /// lock_shared() calls of the thread.
  void lock();
  [[nodiscard]] bool try_lock();
  template <DurationLike D>
  [[nodiscard]] bool try_lock_for(D timeout) {
    return lock_until(Access::exclusive, Deadline(timeout), {});
  }
  template <TimePointLike T>
  [[nodiscard]] bool try_lock_until(T at) {
    return lock_until(Access::exclusive, Deadline(at), {});
  }
  [[nodiscard]] bool lock(std::stop_token stop);
  void unlock();

  /// Acquire and release the read lock. See TimedLock.
  void lock_shared();
  [[nodiscard]] bool try_lock_shared();
  template <DurationLike D>
  [[nodiscard]] bool try_lock_shared_for(D timeout) {
    return lock_until(Access::shared, Deadline(timeout), {});
  }
  template <TimePointLike T>
  [[nodiscard]] bool try_lock_shared_until(T at) {
    return lock_until(Access::shared, Deadline(at), {});
  }
  [[nodiscard]] bool lock_shared(std::stop_token stop);
  void unlock_shared();

  /// Acquire the write lock. See AcquiringLock.
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

  /// Acquire the read lock. See AcquiringLock.
  Hold acquire_shared(AcquireOptions options = {});
  template <DeadlineLike D>
  Hold acquire_shared(D deadline) {
    return acquire_shared({.deadline = deadline});
  }
  void async_acquire_shared(AcquireOptions options, AcquireHandler handler);
  template <std::convertible_to<AcquireHandler> H>
  void async_acquire_shared(H handler) {
    async_acquire_shared({}, AcquireHandler(std::move(handler)));
  }
  [[nodiscard]] std::future<Hold> async_acquire_shared(AcquireOptions options = {});
  Awaitable co_acquire_shared(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire_shared(const AcquireOptions& options);
  Awaitable co_acquire_shared(AcquireOptions&& options) = delete;

  /// Returns whether the calling thread has the write lock or the read lock, with a valid lease.
  /// Does not block; sends nothing.
  [[nodiscard]] bool is_held_by_this_thread() const { return write_count() + read_count() > 0; }

  /// Return how many times the calling thread has the write lock, and the read lock. The result
  /// includes its lock() or lock_shared() calls, and the Holds acquired for it. Return 0 if it does
  /// not hold, or if the hold was lost. Do not block; send nothing.
  [[nodiscard]] int write_count() const;
  [[nodiscard]] int read_count() const;

  /// See QueuedLock. Participant::access distinguishes writers from readers.
  [[nodiscard]] std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;
  [[nodiscard]] std::optional<std::size_t> queue_position(
      std::optional<Owner> owner = std::nullopt, Deadline deadline = Deadline::never()) const;

  /// readers() returns the readers, and writers() all other contenders, in the order of the queue.
  /// Both block and throw as participants() does.
  [[nodiscard]] std::vector<Participant> writers(Deadline deadline = Deadline::never()) const;
  [[nodiscard]] std::vector<Participant> readers(Deadline deadline = Deadline::never()) const;

  /// Returns the path of the lock, below the chroot.
  [[nodiscard]] const std::string& path() const noexcept;

 private:
  bool lock_until(Access access, Deadline deadline, std::stop_token stop);

  std::shared_ptr<detail::LockHandle> lock_handle_;
};

}  // namespace zklock
