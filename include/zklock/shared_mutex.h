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

namespace recipes {
class Lockable;
}

/// A fair, reentrant, fenced read/write lock over all processes: one writer, or any number of
/// readers.
///
/// | the owner has | asks to read                                | asks to write               |
/// |---------------|---------------------------------------------|-----------------------------|
/// | nothing       | waits for the writers before it             | waits for all before it     |
/// | read          | at once                                     | throws would_deadlock       |
/// | write         | at once: its write lock covers it           | at once                     |
/// | read, of a    | at once                                     | throws would_deadlock       |
/// | former write  |                                             |                             |
///
/// Readers and writers are granted first come, first served: neither can starve the other.
///
/// To downgrade, lock shared while holding the write lock, then unlock the latter: the owner keeps
/// its place in the queue and its fencing token, so that a writer who waits does not come in
/// between. Readers that wait behind it get in, as far as no writer stands before them. That takes
/// one request in the background, which gives it another node (see Hold::node()) and which
/// Client::flush() waits for; where the servers refuse it, for a quota, say, it is logged, and
/// others wait as if the owner still wrote. So they do where it wrote by a ReentrantMutex on the
/// path. Who writes and reads, and lets go of both, had better give the reading back first: then
/// there is nothing to downgrade.
///
/// A writer watches the one contender before it; a reader the nearest writer before it, so that
/// queued writers wake a reader once at most. Tokens rise from one writer to the next, and from a
/// writer to the readers after it; readers that hold together have different ones. A path can be
/// shared with Curator's InterProcessReadWriteLock. ReentrantMutex and Mutex on the same path count
/// as writers.
/// Sources: org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
/// java.util.concurrent.locks.ReentrantReadWriteLock; "ZooKeeper Recipes: Shared Locks".
///
/// It meets the requirements of std::unique_lock, std::shared_lock, boost::shared_lock and their
/// like. Waiting is a Boost.Thread interruption point. The acquiring functions throw what those of
/// ReentrantMutex throw, and would_deadlock; whatever they do not say is as there.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class SharedMutex {
 public:
  /// Effects: none on the servers, does not block.
  /// Throws: Error(invalid_option) for a local batch, or being kept when idle; Error(invalid_path |
  /// closed | forked), as ReentrantMutex.
  SharedMutex(Client& client, std::string path, MutexOptions options = {});
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;
  ~SharedMutex();

  /// To write: exclusive. Cost when the lock is free: two pipelined requests, one round trip.
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
  /// False when `stop` is requested: then the queue has been left.
  bool lock(std::stop_token stop);
  /// Takes one lock() of the calling thread back. Does not block. Quiet after a loss.
  /// Throws: Error(not_owner) when the calling thread has no lock() to undo (a shared one is not
  /// touched); Error(forked).
  void unlock();

  /// To read: shared with other readers.
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
  /// As unlock(), for lock_shared().
  void unlock_shared();

  /// As those of ReentrantMutex, to write.
  Hold acquire(AcquireOptions options = {});
  void async_acquire(AcquireOptions options, AcquireHandler handler);
  std::future<Hold> async_acquire(AcquireOptions options = {});
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire(const AcquireOptions& options);
  Awaitable co_acquire(AcquireOptions&& options) = delete;

  /// The same, to read.
  Hold acquire_shared(AcquireOptions options = {});
  void async_acquire_shared(AcquireOptions options, AcquireHandler handler);
  std::future<Hold> async_acquire_shared(AcquireOptions options = {});
  Awaitable co_acquire_shared(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire_shared(const AcquireOptions& options);
  Awaitable co_acquire_shared(AcquireOptions&& options) = delete;

  /// How many times the calling thread holds to write, and to read: lock() and lock_shared() calls
  /// and Holds. 0 when it does not, or when the hold was lost. Do not block and send nothing.
  int write_count() const;
  int read_count() const;

  /// Everybody in the queue, in order. As ReentrantMutex::participants; Participant::access tells
  /// writers from readers.
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;
  /// Those who want to write, and those who want to read.
  std::vector<Participant> writers(Deadline deadline = Deadline::never()) const;
  std::vector<Participant> readers(Deadline deadline = Deadline::never()) const;

  const std::string& path() const noexcept;

 private:
  bool lock_until(Access access, Deadline deadline, std::stop_token stop);

  std::shared_ptr<recipes::Lockable> lockable_;
};

}  // namespace zklock
