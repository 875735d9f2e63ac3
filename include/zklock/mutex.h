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

/// A fair, fenced mutex over all processes. It is not reentrant, and belongs to no thread: any
/// thread may release it. A thread that locks it a second time waits as any other contender does.
/// It waits for ever if it is the thread that has to unlock. The class is for work that one thread
/// begins and another thread ends.
///
/// It excludes ReentrantMutex, and all locks that can share a path with that class, in one fair
/// queue. It meets the Cpp17TimedLockable requirements. A blocking call is a Boost.Thread
/// interruption point.
/// Source: org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex.
///
/// The acquiring functions throw what those of ReentrantMutex throw, except lock_lost, and have the
/// costs of those functions. The destructor releases everything that lock() acquired through this
/// object. A waiting lock() throws Error(closed), and a grant that arrives at that moment is
/// released. Holds are not affected.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class ZKLOCK_EXPORT Mutex {
 public:
  /// Makes a mutex on `path`. Sends nothing; does not block.
  /// Throws: as the constructor of ReentrantMutex.
  Mutex(Client& client, std::string path, MutexOptions options = {});
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex();

  /// Blocks until the lock is granted, or throws.
  void lock();
  /// Makes one attempt, without waiting behind other contenders. Returns whether the lock was
  /// granted.
  bool try_lock();
  /// Blocks until the lock is granted, or until `timeout` has passed: then returns false. See
  /// ReentrantMutex::try_lock_for().
  template <DurationLike D>
  bool try_lock_for(D timeout) {
    return lock_until(Deadline(timeout), {});
  }
  template <TimePointLike T>
  bool try_lock_until(T at) {
    return lock_until(Deadline(at), {});
  }
  /// Blocks as lock() does. Returns false if `stop` was requested; then the call has left the
  /// queue.
  bool lock(std::stop_token stop);

  /// Releases one grant of lock() or a variant of it through this object: that of the calling
  /// thread, or else the oldest. There is more than one grant only after a loss. The lost one
  /// remains until it is unlocked, and another one may have been granted since. Does not block; any
  /// thread may call it. After a loss it reports no error.
  /// Throws: Error(not_owner) if there is no grant; nothing is changed. Error(forked).
  void unlock();

  /// Blocks until the lock is granted, and returns the Hold. Returns an empty Hold if the deadline
  /// passed or a stop was requested. The owner in `options` does not nest; it is only written into
  /// the znode, for people to read.
  Hold acquire(AcquireOptions options = {});
  /// See ReentrantMutex::async_acquire() and ReentrantMutex::co_acquire().
  void async_acquire(AcquireOptions options, AcquireHandler handler);
  std::future<Hold> async_acquire(AcquireOptions options = {});
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire(const AcquireOptions& options);
  Awaitable co_acquire(AcquireOptions&& options) = delete;

  /// Returns whether a lock() through this object holds with a valid lease. Returns false in a
  /// forked child. Does not block; sends nothing.
  bool is_locked() const;

  /// Returns all contenders in the order of the queue, the holder first. See
  /// ReentrantMutex::participants().
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  const std::string& path() const noexcept;

 private:
  struct ZKLOCK_HIDDEN State;

  bool lock_until(Deadline deadline, std::stop_token stop);

  /// Shared with running calls, which can outlive this object.
  std::shared_ptr<State> state_;
};

}  // namespace zklock
