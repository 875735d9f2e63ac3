// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/composite_hold.h"
#include "zklock/deadline.h"

namespace zklock {

namespace core {
enum class CountKind;
}
namespace recipes {
class Composite;
struct CompositeOutcome;
struct CompositeWanted;
}  // namespace recipes

/// Receives the outcome of an asynchronous acquire: a hold; or an empty one and no error (the
/// deadline passed, or a stop was requested); or an empty one and an exception, an Error.
using CompositeHandler = std::function<void(CompositeHold, std::exception_ptr)>;

/// What MultiMutex and QuorumMutex have in common: several locks, the parts, taken as one.
///
/// The parts are ReentrantMutexes, with their fairness, owners, counts and errors: lock() is a
/// lock() of the parts, and acquire() takes a Hold of each. They are taken one after the other, in
/// an order that is the same for everybody, so that calls do not wait for each other in a circle.
/// One deadline and one stop hold for all; when they come, or a part fails, all that was taken is
/// given back. It meets the Cpp17TimedLockable requirements, so std::unique_lock and
/// std::scoped_lock (over several of them) work. Waiting in lock() and its relatives is a
/// Boost.Thread interruption point.
///
/// What was taken can be lost while the others are waited for: the session expires, or somebody
/// deletes a node. That is never granted. When not enough are left, all is given back, and the call
/// begins anew, at the ends of the queues, within its deadline; with OnNodeLost::fail it throws
/// lock_lost instead (or session_expired, node_deleted: what the part that was waited for threw).
///
/// Sources: those of MultiMutex and of QuorumMutex; Havender, "Avoiding deadlock in
/// multitasking systems", for the one order.
///
/// Whenever an acquiring function does not return a grant, nothing is held that the call took, and
/// its nodes are gone or on their way out; it is never granted afterwards.
///
/// Destroying it while it is held or waited for is an error of the program and does no harm: the
/// waiting calls throw `closed`; what lock() took stays taken until its thread exits, the client is
/// closed, or it is unlocked part by part; holds are not affected.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class CompositeMutex {
 public:
  CompositeMutex(const CompositeMutex&) = delete;
  CompositeMutex& operator=(const CompositeMutex&) = delete;

  /// Blocks until the calling thread holds, or throws. A thread that holds may lock again; every
  /// lock() needs its unlock().
  void lock();

  /// One attempt at each part, without queueing behind others.
  bool try_lock();

  /// Blocks until the calling thread holds, or `timeout` has passed: then false. A timeout of zero
  /// or less is try_lock().
  template <DurationLike D>
  bool try_lock_for(D timeout) {
    return lock_until(Deadline(timeout), {});
  }
  template <TimePointLike T>
  bool try_lock_until(T at) {
    return lock_until(Deadline(at), {});
  }

  /// Like lock(), but false when `stop` is requested: then all queues have been left.
  bool lock(std::stop_token stop);

  /// Takes one lock() of the calling thread back, in every part that it took. Does not block: the
  /// nodes are deleted in the background. Quiet after a loss.
  /// Throws: Error(not_owner) whose path() names every part in which the calling thread has no
  /// lock() to undo (because it was undone there already, through a ReentrantMutex on that path);
  /// all others were unlocked all the same. Error(forked): nothing is changed.
  void unlock();

  /// Blocks. Returns an empty hold if the deadline passed or a stop was requested. QuorumMutex throws
  /// not_connected if too few ensembles were reachable until the deadline.
  CompositeHold acquire(AcquireOptions options = {});

  /// Does not block; no thread waits meanwhile. `handler` is called exactly once, on the executor
  /// of a client that is not closed (all are: on a thread of zklock); what it throws is logged and
  /// dropped. Only Error(closed | forked), when there is nothing left to wait with, is thrown, all
  /// other errors go to the handler.
  void async_acquire(AcquireOptions options, CompositeHandler handler);

  /// The same as a future, which becomes ready exactly once, with a hold (empty when the deadline
  /// passed or a stop was requested) or an Error.
  std::future<CompositeHold> async_acquire(AcquireOptions options = {});

  using Awaitable = BasicAwaitable<CompositeHold>;
  /// For coroutines: `auto hold = co_await mutex.co_acquire(5s, stop);`. Resumes where a handler
  /// would run. Throws from co_await what acquire() throws. To set other members of AcquireOptions,
  /// pass a named variable: a temporary is rejected at compile time. BasicAwaitable tells why, and
  /// how to destroy a suspended coroutine.
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {});
  Awaitable co_acquire(const AcquireOptions& options);
  Awaitable co_acquire(AcquireOptions&& options) = delete;

  /// Whether the calling thread holds enough parts, with valid leases. Sends nothing.
  bool is_held_by_this_thread() const;

  /// How many times the calling thread has enough parts: lock() calls and holds on its behalf,
  /// whichever object took them. 0 when it has not, or when too many were lost.
  int hold_count() const;

 protected:
  explicit CompositeMutex(std::shared_ptr<recipes::Composite> composite);
  ~CompositeMutex();

 private:
  bool lock_until(Deadline deadline, std::stop_token stop);
  static void start(std::shared_ptr<recipes::Composite> composite, AcquireOptions options,
                    std::function<void(recipes::CompositeOutcome)> done);
  static void acquire_async(const std::shared_ptr<recipes::Composite>& composite,
                            AcquireOptions options, CompositeHandler handler);

  std::shared_ptr<recipes::Composite> composite_;
};

}  // namespace zklock
