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
#include "zklock/hold.h"
#include "zklock/mutex_options.h"
#include "zklock/participant.h"

namespace zklock {

/// A fair, fenced mutex over all processes, not reentrant: it belongs to no thread. Whoever locks
/// it a second time waits like everybody else, for ever if it is the one that has to unlock; any
/// thread may release. For work that one thread begins and another ends.
///
/// It excludes, and queues fairly with, ReentrantMutex and all that share a path with that one. It
/// meets the Cpp17TimedLockable requirements; waiting is a Boost.Thread interruption point.
/// Source: org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex.
///
/// The acquiring functions throw what those of ReentrantMutex throw, but never lock_lost; the costs
/// are the same. Destroying it gives back what lock() took, also what comes at that very moment to a
/// lock() that waits: that throws `closed`. Holds are not affected.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class Mutex {
 public:
  /// Effects: none on the servers, does not block.
  /// Throws: Error(invalid_path | closed | forked), as ReentrantMutex.
  Mutex(Client& client, std::string path, MutexOptions options = {});
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex();

  /// Blocks until granted, or throws.
  void lock();
  /// One attempt, without queueing behind others.
  bool try_lock();
  /// Blocks until granted, or `timeout` has passed: then false. As ReentrantMutex::try_lock_for.
  template <DurationLike D>
  bool try_lock_for(D timeout) {
    return lock_until(Deadline(timeout), {});
  }
  template <TimePointLike T>
  bool try_lock_until(T at) {
    return lock_until(Deadline(at), {});
  }
  /// Like lock(), but false when `stop` is requested: then the queue has been left.
  bool lock(std::stop_token stop);

  /// Gives back what lock() or a relative took through this object: the calling thread's, or else
  /// the oldest. (There is more than one only after a loss: the lost one, until it is unlocked, and
  /// the one that was granted since.) Any thread may call it; does not block; quiet after a loss.
  /// Throws: Error(not_owner) when there is nothing to give back, and nothing is changed;
  /// Error(forked).
  void unlock();

  /// Blocks; returns an empty Hold when the deadline passed or a stop was requested. The owner in
  /// `options` is what the node tells people; it does not nest.
  Hold acquire(AcquireOptions options = {});
  /// As those of ReentrantMutex.
  void async_acquire(AcquireOptions options, AcquireHandler handler);
  std::future<Hold> async_acquire(AcquireOptions options = {});
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire(const AcquireOptions& options);
  Awaitable co_acquire(AcquireOptions&& options) = delete;

  /// Whether lock() through this object holds, with a valid lease. Does not block, sends nothing.
  /// False in a fork()ed child.
  bool is_locked() const;

  /// Everybody in the queue, in order, the holder first. As ReentrantMutex::participants.
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  const std::string& path() const noexcept;

 private:
  struct State;

  bool lock_until(Deadline deadline, std::stop_token stop);

  std::shared_ptr<State> state_;  ///< a call under way keeps it, when the object is destroyed
};

}  // namespace zklock
