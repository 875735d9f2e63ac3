// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/hold.h"
#include "zklock/mutex_options.h"
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
/// To downgrade, lock shared while holding the write lock, then unlock the write lock. The owner
/// retains its lock node in the queue and its fencing token, so no waiting writer is granted in
/// between. Readers that wait behind the owner are granted if no other writer is ahead of them.
///
/// The downgrade takes one request in the background, which gives the owner another znode; see
/// Hold::node(). Client::flush() waits for it. If the servers refuse it, for example because of a
/// quota, the refusal is logged. Other contenders then wait as if the owner still held the write
/// lock. They also do so if the owner acquired the write lock through a ReentrantMutex on the path.
/// To release both locks, release the read lock first: then there is no downgrade.
///
/// A writer watches the contender directly ahead of it. A reader watches the nearest writer ahead
/// of it, so queued writers wake a reader at most once. Tokens rise from one writer to the next
/// writer, and from a writer to the readers behind it. Readers that hold together have different
/// tokens.
///
/// A path can be shared with Curator's InterProcessReadWriteLock. ReentrantMutex and Mutex on the
/// path count as writers.
/// Source: org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock.
/// Source: java.util.concurrent.locks.ReentrantReadWriteLock.
/// Source: "ZooKeeper Recipes: Shared Locks".
///
/// The class meets the requirements of std::unique_lock, std::shared_lock, boost::shared_lock and
/// similar guards. A blocking call is a Boost.Thread interruption point. The acquiring functions
/// throw what those of ReentrantMutex throw, also would_deadlock. Everything that is not stated
/// here is as in ReentrantMutex.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class ZKLOCK_EXPORT SharedMutex {
 public:
  /// Makes a lock on `path`. Sends nothing; does not block.
  /// Throws: Error(invalid_option) for max_local_handoffs or keep_idle_for in `options`. Otherwise
  /// as the constructor of ReentrantMutex.
  SharedMutex(Client& client, std::string path, MutexOptions options = {});
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;
  ~SharedMutex();

  /// Acquires the lock to write, exclusively. If the lock is free, lock() sends two pipelined
  /// requests and blocks for one round trip.
  void lock();
  bool try_lock();
  template <DurationLike D>
  bool try_lock_for(D timeout) {
    return lock_until(Access::exclusive, Deadline(timeout), {});
  }
  template <TimePointLike T>
  bool try_lock_until(T at) {
    return lock_until(Access::exclusive, Deadline(at), {});
  }
  /// Blocks as lock() does. Returns false if `stop` was requested; then the call has left the
  /// queue.
  bool lock(std::stop_token stop);
  /// Undoes one lock() of the calling thread. Does not block. After a loss it reports no error.
  /// Throws: Error(not_owner) if the calling thread has no lock() to undo; its lock_shared() calls
  /// are not affected. Error(forked).
  void unlock();

  /// Acquires the lock to read, together with other readers.
  void lock_shared();
  bool try_lock_shared();
  template <DurationLike D>
  bool try_lock_shared_for(D timeout) {
    return lock_until(Access::shared, Deadline(timeout), {});
  }
  template <TimePointLike T>
  bool try_lock_shared_until(T at) {
    return lock_until(Access::shared, Deadline(at), {});
  }
  bool lock_shared(std::stop_token stop);
  /// Undoes one lock_shared() of the calling thread; otherwise as unlock().
  void unlock_shared();

  /// Acquire the lock to write. See ReentrantMutex::acquire(), async_acquire() and co_acquire().
  Hold acquire(AcquireOptions options = {});
  void async_acquire(AcquireOptions options, AcquireHandler handler);
  std::future<Hold> async_acquire(AcquireOptions options = {});
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire(const AcquireOptions& options);
  Awaitable co_acquire(AcquireOptions&& options) = delete;

  /// Acquire the lock to read. See ReentrantMutex::acquire(), async_acquire() and co_acquire().
  Hold acquire_shared(AcquireOptions options = {});
  void async_acquire_shared(AcquireOptions options, AcquireHandler handler);
  std::future<Hold> async_acquire_shared(AcquireOptions options = {});
  Awaitable co_acquire_shared(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire_shared(const AcquireOptions& options);
  Awaitable co_acquire_shared(AcquireOptions&& options) = delete;

  /// Return how many times the calling thread holds to write, and to read: its lock() or
  /// lock_shared() calls and the Holds on its behalf. Return 0 if it does not hold, or if the hold
  /// was lost. Do not block; send nothing.
  int write_count() const;
  int read_count() const;

  /// Returns all contenders in the order of the queue. Participant::access distinguishes writers
  /// from readers. See ReentrantMutex::participants().
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;
  /// Return the writers, and the readers, in the order of the queue. See participants().
  std::vector<Participant> writers(Deadline deadline = Deadline::never()) const;
  std::vector<Participant> readers(Deadline deadline = Deadline::never()) const;

  const std::string& path() const noexcept;

 private:
  bool lock_until(Access access, Deadline deadline, std::stop_token stop);

  std::shared_ptr<detail::LockHandle> lock_handle_;
};

}  // namespace zklock
