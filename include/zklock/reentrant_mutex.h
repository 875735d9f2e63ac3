// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/hold.h"
#include "zklock/mutex_options.h"
#include "zklock/owner.h"
#include "zklock/participant.h"

namespace zklock {

namespace recipes {
class Lockable;
}

/// A fair, reentrant, fenced mutex over all processes that use the same path of one ensemble.
///
/// Contenders are granted first come, first served. The owner that holds may lock again; every
/// lock() needs its unlock(). Objects on one path of one client share their state: two of them in
/// one thread nest, they do not deadlock. It meets the Cpp17TimedLockable requirements, so
/// std::unique_lock, std::scoped_lock and boost::unique_lock work. Waiting in lock() and its
/// relatives is a Boost.Thread interruption point.
///
/// A path can be shared with Curator's InterProcessMutex, and with Kazoo's Lock given
/// extra_lock_patterns=["lock-"].
/// Source: org.apache.curator.framework.recipes.locks.InterProcessMutex; "ZooKeeper Recipes:
/// Locks" of the ZooKeeper documentation.
///
/// Every acquiring function throws Error: no_auth, invalid_acl, quota_exceeded, read_only,
/// no_chroot, auth_failed, not_connected, sequence_exhausted, too_many_nodes, too_many_watches,
/// server_error, closed, forked; invalid_option for an AcquireOptions::max_hold that is not positive;
/// lock_lost when this owner's earlier hold was lost and not yet unlocked; would_deadlock when it has
/// a read lock of a SharedMutex on the path; session_expired and node_deleted only with
/// OnNodeLost::fail. Whenever it does not
/// return a grant, the caller does not hold, and its node is gone or on its way out (ahead of any
/// later request of this client); it is never granted afterwards.
///
/// Destroying a mutex while it is held or waited for is an error of the program. It does no harm:
/// the waiting calls throw `closed`, and what lock() took stays taken until it is unlocked through
/// another object on the path, its thread exits, or the client is closed. Holds are not affected.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class ReentrantMutex {
 public:
  /// Effects: none on the servers, does not block. The path is absolute, below the chroot; missing
  /// parents are created as containers with the first lock.
  /// Throws: Error(invalid_path) for a path that is empty, relative, "/" itself, in /zookeeper, or
  /// has empty, "." or ".." components, a trailing slash, control characters or invalid UTF-8;
  /// Error(invalid_option) for a time in the options that is not positive; Error(closed | forked).
  ReentrantMutex(Client& client, std::string path, MutexOptions options = {});
  ReentrantMutex(const ReentrantMutex&) = delete;
  ReentrantMutex& operator=(const ReentrantMutex&) = delete;
  ~ReentrantMutex();

  /// Blocks until the calling thread holds, or throws. Cost when the lock is free: two pipelined
  /// requests, one round trip. Re-entry sends nothing.
  void lock();

  /// One attempt, without queueing behind others. Blocks for the round trips of that attempt; with
  /// no server, for ClientOptions::connection_timeout, then throws not_connected.
  bool try_lock();

  /// Blocks until the calling thread holds, or `timeout` has passed: then false. A timeout of zero
  /// or less is try_lock(). Durations and clocks of boost::chrono will do. If no server could be
  /// reached in all that time: throws not_connected.
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

  /// Takes one lock() of the calling thread back; with the last one the lock passes on. Does not
  /// block: the node is deleted in the background. Before you tell others that it is free, wait for
  /// that: Client::flush(). Quiet after a loss.
  /// Throws: Error(not_owner) when the calling thread has no lock() to undo; nothing is changed,
  /// and a Hold of the same thread is not touched. Error(forked).
  void unlock();

  /// Blocks; returns an empty Hold when the deadline passed or a stop was requested.
  Hold acquire(AcquireOptions options = {});

  /// Does not block, except that starting may take a lock for microseconds. `handler` is called
  /// exactly once, on the client's executor; what it throws is logged and dropped. No thread waits
  /// meanwhile. Errors go to the handler; only Error(closed | forked), when there is no executor any
  /// more, is thrown.
  void async_acquire(AcquireOptions options, AcquireHandler handler);

  /// The same as a future, which becomes ready exactly once, with a Hold (empty when the deadline
  /// passed or a stop was requested) or an Error.
  std::future<Hold> async_acquire(AcquireOptions options = {});

  /// For coroutines: `Hold hold = co_await mutex.co_acquire(5s, stop);`. Resumes on the client's
  /// executor. Throws from co_await what acquire() throws. To set other members of AcquireOptions,
  /// pass a named variable: a temporary is rejected at compile time. BasicAwaitable tells why, and
  /// how to destroy a suspended coroutine.
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire(const AcquireOptions& options);
  Awaitable co_acquire(AcquireOptions&& options) = delete;

  /// Whether the calling thread holds, with a valid lease. Does not block and sends nothing.
  bool is_held_by_this_thread() const;

  /// How many times the calling thread has it: its lock() calls and the Holds acquired on its
  /// behalf. 0 when it does not, or when the hold was lost.
  int hold_count() const;

  /// Everybody in the queue, in order, the holder first. Blocks for two round trips. Contenders
  /// that come or go meanwhile may be missing.
  /// Throws: Error(no_auth | auth_failed | not_connected | closed | forked | server_error).
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  /// How many contenders stand before `owner` (by default the calling thread), 0 when it is first;
  /// nothing when that owner is not in the queue. Blocks for one round trip.
  /// Throws: as participants().
  std::optional<std::size_t> queue_position(std::optional<Owner> owner = std::nullopt,
                                            Deadline deadline = Deadline::never()) const;

  const std::string& path() const noexcept;

 private:
  bool lock_until(Deadline deadline, std::stop_token stop);

  std::shared_ptr<recipes::Lockable> lockable_;
};

}  // namespace zklock
