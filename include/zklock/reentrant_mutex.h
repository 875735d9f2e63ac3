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
#include "zklock/export.h"
#include "zklock/hold.h"
#include "zklock/mutex_options.h"
#include "zklock/owner.h"
#include "zklock/participant.h"

namespace zklock {

namespace detail {
class LockHandle;
}

/// A fair, reentrant, fenced mutex over all processes that use one path of one ensemble.
///
/// Contenders are granted first come, first served. The owner that holds may lock again; each
/// lock() needs its own unlock(). Objects on one path of one client share their state: two of them
/// in one thread nest and do not deadlock.
///
/// The class meets the Cpp17TimedLockable requirements, so std::unique_lock, std::scoped_lock and
/// boost::unique_lock work. A blocking call is a Boost.Thread interruption point.
///
/// A path can be shared with Curator's InterProcessMutex, and with Kazoo's Lock if it is given
/// extra_lock_patterns=["lock-"].
/// Source: org.apache.curator.framework.recipes.locks.InterProcessMutex.
/// Source: "ZooKeeper Recipes: Locks" of the ZooKeeper documentation.
///
/// Every acquiring function throws Error:
///
/// | code                                          | cause                                       |
/// |-----------------------------------------------|---------------------------------------------|
/// | no_auth, invalid_acl, quota_exceeded,         | see Errc                                    |
/// | read_only, no_chroot, auth_failed,            |                                             |
/// | not_connected, sequence_exhausted,            |                                             |
/// | too_many_nodes, too_many_watches,             |                                             |
/// | server_error, closed, forked                  |                                             |
/// | invalid_option                                | AcquireOptions::max_hold is not positive    |
/// | lock_lost                                     | an earlier hold of this owner was lost, and |
/// |                                               | is not unlocked yet                         |
/// | would_deadlock                                | this owner has a read lock of a SharedMutex |
/// |                                               | on the path                                 |
/// | session_expired, node_deleted                 | the znode was deleted while the call        |
/// |                                               | waited; only with OnNodeLost::fail          |
///
/// If an acquiring function returns no grant, the caller does not hold. Its znode is deleted, or
/// the client deletes it before any later request. The call is never granted afterwards.
///
/// Destroying the mutex while it is held or waited for is an error of the program, but does no
/// harm. Waiting calls throw Error(closed). A lock() that was granted stays in force until its
/// thread exits, the client is closed, or another object on the path undoes it. Holds are not
/// affected.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class ZKLOCK_EXPORT ReentrantMutex {
 public:
  /// Makes a mutex on `path`, an absolute path below the chroot. Sends nothing; does not block. The
  /// first lock creates missing parents, as containers.
  ///
  /// Throws: Error(invalid_path) if the path is empty, relative, "/", or in /zookeeper. Also if it
  /// has an empty, "." or ".." component, a trailing slash, a control character, or invalid UTF-8.
  /// Error(invalid_option) if an option is outside its range, see MutexOptions. Error(closed |
  /// forked).
  ReentrantMutex(Client& client, std::string path, MutexOptions options = {});
  ReentrantMutex(const ReentrantMutex&) = delete;
  ReentrantMutex& operator=(const ReentrantMutex&) = delete;
  ~ReentrantMutex();

  /// Blocks until the calling thread holds, or throws. If the lock is free, lock() sends two
  /// pipelined requests and blocks for one round trip. Re-entry sends nothing.
  void lock();

  /// Makes one attempt, without waiting behind other contenders. Returns whether the calling thread
  /// was granted the lock. Blocks for the round trips of that attempt. Without a server it blocks
  /// for ClientOptions::connection_timeout, and then throws not_connected.
  bool try_lock();

  /// Blocks until the calling thread holds, or until `timeout` has passed: then returns false. A
  /// timeout of zero or less means try_lock(). Durations and clocks of boost::chrono are accepted.
  /// Throws: also Error(not_connected) if no server could be reached in all that time.
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

  /// Undoes one lock() of the calling thread. With the last count of the owner the lock is
  /// released. Does not block: the client deletes the znode in the background. Before you tell
  /// others that the lock is free, wait for the delete with Client::flush(). After a loss unlock()
  /// reports no error.
  /// Throws: Error(not_owner) if the calling thread has no lock() to undo. Nothing is changed, and
  /// a Hold of that thread is not affected. Error(forked).
  void unlock();

  /// Blocks until the lock is acquired, and returns the Hold. Returns an empty Hold if the deadline
  /// passed or a stop was requested.
  Hold acquire(AcquireOptions options = {});

  /// Begins an acquire. `handler` is called exactly once, on the client's executor. An exception
  /// that the handler throws is logged and dropped. Does not wait for servers, and no thread waits
  /// meanwhile; it may block on a mutex for microseconds.
  /// Throws: Error(closed | forked), because no executor is left then. All other errors go to the
  /// handler.
  void async_acquire(AcquireOptions options, AcquireHandler handler);

  /// Begins an acquire, and returns its future. The future becomes ready exactly once, with a Hold
  /// or an Error. The Hold is empty if the deadline passed or a stop was requested.
  std::future<Hold> async_acquire(AcquireOptions options = {});

  /// Acquires in a coroutine: `Hold hold = co_await mutex.co_acquire(5s, stop);`. The coroutine
  /// resumes on the client's executor. co_await throws what acquire() throws. To set other members
  /// of AcquireOptions, pass a named variable: a temporary is rejected at compile time.
  /// BasicAwaitable explains why, and how to destroy a suspended coroutine.
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire(const AcquireOptions& options);
  Awaitable co_acquire(AcquireOptions&& options) = delete;

  /// Returns whether the calling thread holds with a valid lease. Does not block; sends nothing.
  bool is_held_by_this_thread() const;

  /// Returns how many times the calling thread holds: its lock() calls and the Holds acquired on
  /// its behalf. Returns 0 if it does not hold, or if the hold was lost.
  int hold_count() const;

  /// Returns all contenders in the order of the queue, the holder first. Contenders that enqueue or
  /// leave meanwhile may be missing. Blocks for two round trips.
  /// Throws: Error(no_auth | auth_failed | not_connected | closed | forked | server_error).
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  /// Returns how many contenders are ahead of this client's contender of `owner`, by default of the
  /// calling thread. Returns 0 if it is first, nullopt if `owner` is not in the queue. Blocks for
  /// one round trip.
  /// Throws: as participants().
  std::optional<std::size_t> queue_position(std::optional<Owner> owner = std::nullopt,
                                            Deadline deadline = Deadline::never()) const;

  const std::string& path() const noexcept;

 private:
  bool lock_until(Deadline deadline, std::stop_token stop);

  std::shared_ptr<detail::LockHandle> lock_handle_;
};

}  // namespace zklock
