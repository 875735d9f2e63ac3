// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <utility>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/callback.h"
#include "zklock/composite_hold.h"
#include "zklock/deadline.h"
#include "zklock/export.h"

namespace zklock {

namespace detail {
class Composite;
struct CompositeOutcome;
}  // namespace detail

/// Receives the outcome of an asynchronous acquire: a hold, or an empty hold and a pointer to an
/// Error. An empty hold without an exception means that the deadline passed or a stop was
/// requested.
using CompositeHandler = Callback<CompositeHold, std::exception_ptr>;

/// The base of MultiMutex and QuorumMutex: a reentrant lock of several locks, its parts, that are
/// acquired together.
///
/// The parts are ReentrantMutexes, with their fairness, owners, counts and errors. Those of a
/// MultiMutex can also be readers, writers and permits. lock() locks each part for the thread, and
/// acquire() acquires a Hold of each part. A MultiMutex needs all its parts, a QuorumMutex a
/// majority. A call acquires the parts one after the other, in an order that all processes share.
/// So calls never wait for each other in a cycle, if their threads hold no other lock. One deadline
/// and one stop token apply to all parts. If the deadline passes, a stop is requested, or too many
/// parts fail, the call releases all parts that it acquired. A late reply cannot grant the call
/// afterwards.
///
/// The class meets AcquiringLock<CompositeMutex, CompositeHold> and ReentrantLock, see
/// lock_concepts.h. The members below state what is particular to several parts.
///
/// A part can be lost while the call waits for other parts: its session expires, or another client
/// deletes its znode. A lost part is never included in a grant. If too few parts remain for a
/// grant, the call releases those that it holds. By default it then begins again, at the ends of
/// the queues, within its deadline. With OnNodeLost::fail it throws instead: lock_lost if a held
/// part was lost, and session_expired or node_deleted if the awaited part lost its znode.
///
/// Destroying the object while it is held or waited for is safe, but usually a mistake. Waiting
/// calls throw Error(closed). Parts that lock() acquired stay locked until the locking thread
/// exits, the client is closed, or other objects on their paths unlock them. Holds are not
/// affected.
///
/// Source: Havender, "Avoiding deadlock in multitasking systems", for the common order.
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: an acquiring call that waits; see above.
class ZKLOCK_EXPORT CompositeMutex {
 public:
  CompositeMutex(const CompositeMutex&) = delete;
  CompositeMutex& operator=(const CompositeMutex&) = delete;

  /// Blocks until the calling thread holds enough parts, or throws. A thread that holds may lock
  /// again. Each lock() needs its own unlock().
  void lock();

  /// Makes one attempt at each part, without waiting behind other contenders. Returns whether the
  /// calling thread was granted the lock.
  [[nodiscard]] bool try_lock();

  /// Blocks until the calling thread holds enough parts, or until `timeout` has passed: then
  /// returns false. A timeout of zero or less means try_lock().
  template <DurationLike D>
  [[nodiscard]] bool try_lock_for(D timeout) {
    return lock_until(Deadline(timeout), {});
  }
  template <TimePointLike T>
  [[nodiscard]] bool try_lock_until(T at) {
    return lock_until(Deadline(at), {});
  }

  /// Blocks as lock() does. Returns false if `stop` was requested; then the call has left all
  /// queues.
  [[nodiscard]] bool lock(std::stop_token stop);

  /// Undoes the last lock() of the calling thread, in every part that this lock() acquired. This
  /// object remembers these parts. A path only counts the calls of lock(), whatever object made
  /// them. Does not block: the client deletes the znodes in the background. After a loss it reports
  /// no error.
  /// Throws: Error(not_owner) if the calling thread has no lock() to undo in some of these parts.
  /// That happens if the part was unlocked through a ReentrantMutex on its path. Error::path()
  /// names these parts; all other parts are unlocked. Error(forked): nothing is changed.
  void unlock();

  /// Blocks until enough parts are acquired, and returns their hold. Returns an empty hold if the
  /// deadline passed or a stop was requested. QuorumMutex throws not_connected if the deadline
  /// passes and too few ensembles could be reached.
  CompositeHold acquire(AcquireOptions options = {});
  template <DeadlineLike D>
  CompositeHold acquire(D deadline) {
    return acquire({.deadline = deadline});
  }

  /// Begins an acquire. Does not block, and no thread waits meanwhile. `handler` is called exactly
  /// once, on the executor of a client that is not closed. If all clients are closed, it runs on a
  /// thread of zklock. An exception that the handler throws is logged and dropped.
  /// Throws: Error(closed) if so many clients are closed at the call that too few parts remain;
  /// Error(forked). All other errors go to the handler.
  void async_acquire(AcquireOptions options, CompositeHandler handler);
  template <std::convertible_to<CompositeHandler> H>
  void async_acquire(H handler) {
    async_acquire({}, CompositeHandler(std::move(handler)));
  }

  /// Begins an acquire, and returns its future. The future becomes ready exactly once, with a hold
  /// or an Error. The hold is empty if the deadline passed or a stop was requested.
  [[nodiscard]] std::future<CompositeHold> async_acquire(AcquireOptions options = {});

  /// The result of co_acquire().
  using Awaitable = BasicAwaitable<CompositeHold>;
  /// Acquires in a coroutine: `auto hold = co_await mutex.co_acquire(5s, stop);`. The coroutine
  /// resumes where a handler would run. co_await throws what acquire() throws. To set other members
  /// of AcquireOptions, pass a named variable: a temporary is rejected at compile time.
  /// BasicAwaitable explains why, and how to destroy a suspended coroutine.
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire(const AcquireOptions& options);
  Awaitable co_acquire(AcquireOptions&& options) = delete;

  /// Returns whether the calling thread holds enough parts with valid leases. Sends nothing.
  [[nodiscard]] bool is_held_by_this_thread() const;

  /// Returns how many times the calling thread holds enough parts. lock() calls and holds on its
  /// behalf count, including those of other objects on the same paths. Returns 0 if the thread
  /// holds too few parts, or too many of them were lost.
  [[nodiscard]] int hold_count() const;

 protected:
  /// For the derived classes of the library.
  ZKLOCK_HIDDEN explicit CompositeMutex(std::shared_ptr<detail::Composite> composite);
  ~CompositeMutex();
  /// For the derived classes of the library.
  ZKLOCK_HIDDEN const detail::Composite& composite() const noexcept { return *composite_; }

 private:
  bool lock_until(Deadline deadline, std::stop_token stop);
  ZKLOCK_HIDDEN static void start(std::shared_ptr<detail::Composite> composite,
                                  AcquireOptions options,
                                  std::function<void(detail::CompositeOutcome)> done);
  ZKLOCK_HIDDEN static void acquire_async(const std::shared_ptr<detail::Composite>& composite,
                                          AcquireOptions options, CompositeHandler handler);

  std::shared_ptr<detail::Composite> composite_;
};

}  // namespace zklock
