// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/deadline.h"
#include "zklock/hold.h"
#include "zklock/lease_clock.h"
#include "zklock/owner.h"
#include "zklock/participant.h"

namespace zklock {

// The contracts that several lock classes share. A class names the concepts that it meets, and
// states only the differences.

/// A lock with acquiring calls. `Held` is the type of a grant.
///
/// | call                            | blocks             | grant          | no grant            |
/// |---------------------------------|--------------------|----------------|---------------------|
/// | acquire(options), acquire(5s)   | yes                | Held           | empty Held          |
/// | async_acquire(options)          | no                 | in the future  | empty Held in it    |
/// | async_acquire(options, handler) | no                 | to the handler | empty Held, no      |
/// |                                 |                    |                | exception           |
/// | co_acquire(5s, stop),           | no: suspends the   | from co_await  | empty Held          |
/// | co_acquire(options)             | coroutine          |                |                     |
///
/// "No grant" means that the deadline passed or a stop was requested. If the deadline passes while
/// the client is disconnected, and the call has created no znode, the call fails with not_connected
/// instead. Without a deadline and a stop token, a call waits until it is granted or fails. Without
/// an owner in the options, acquire() acquires for the calling thread, and every other form for a
/// new Owner::unique(). blocked_by() of the empty Held reads the present holder.
///
/// A free lock usually costs one round trip, of one or two pipelined requests, if the class does
/// not say otherwise. A grant to an owner that holds already (re-entry) sends nothing. A deadline
/// that has passed means a single attempt: the call does not wait behind other contenders. Without
/// a server, it waits for ClientOptions::connection_timeout and then fails with not_connected. A
/// call that "does not block" waits for no server and no contender, but may wait for a mutex for
/// microseconds.
///
/// A future becomes ready exactly once. A handler is called exactly once, on the client's executor,
/// and an exception that it throws is logged and dropped. Without an executor, eight threads of the
/// client run all handlers; if eight of them block, a ninth waits (see Executor). A coroutine
/// resumes where a handler would run. Pass co_acquire() no temporary AcquireOptions: BasicAwaitable
/// explains why, and how to destroy a suspended coroutine. A blocking call is an interruption point
/// of Boost.Thread.
///
/// An acquiring call fails with one of these Errors. A blocking call throws it, get() of a future
/// and co_await throw it, and a handler receives it. If the client is already closed or forked, a
/// call with a handler throws that Error itself, because no executor is left. If the client is
/// closed while the call waits, the handler receives Error(closed).
///
/// | code                                          | cause                                       |
/// |-----------------------------------------------|---------------------------------------------|
/// | no_auth, invalid_acl, quota_exceeded,         | see Errc                                    |
/// | read_only, no_chroot, auth_failed,            |                                             |
/// | not_connected, sequence_exhausted,            |                                             |
/// | too_many_nodes, too_many_watches,             |                                             |
/// | node_exists, server_error, closed, forked     |                                             |
/// | invalid_option                                | AcquireOptions::max_hold is not positive    |
/// | lock_lost                                     | an earlier hold of this owner was lost, and |
/// |                                               | is not unlocked yet                         |
/// | would_deadlock                                | this owner has a read lock of a SharedMutex |
/// |                                               | on the path, and requests a write lock or a |
/// |                                               | mutex. Or it has permits by a MultiMutex on |
/// |                                               | the path, and requests anything else there. |
/// |                                               | Or, only for lock() and lock_shared():      |
/// |                                               | threads of this Client wait for each other, |
/// |                                               | and would do so for ever                    |
/// | session_expired, node_deleted                 | the znode was deleted while the call        |
/// |                                               | waited; only with OnNodeLost::fail          |
///
/// After "no grant" or an Error, the call has acquired nothing; earlier holds of its owner do not
/// change. Its znode is deleted, or the client is deleting it in the background; see
/// Client::flush(). The call is never granted afterwards.
///
/// Destroying the object while calls wait is safe, but usually a mistake: they fail with closed.
/// Holds are not affected.
template <class Lock, class Held = Hold>
concept AcquiringLock = requires(Lock& lock, const AcquireOptions& options, Deadline deadline,
                                 std::stop_token stop, void (*handler)(Held, std::exception_ptr)) {
  { lock.acquire() } -> std::same_as<Held>;
  { lock.acquire(options) } -> std::same_as<Held>;
  { lock.acquire(deadline) } -> std::same_as<Held>;
  { lock.async_acquire() } -> std::same_as<std::future<Held>>;
  { lock.async_acquire(options) } -> std::same_as<std::future<Held>>;
  lock.async_acquire(options, handler);
  lock.async_acquire(handler);
  { lock.co_acquire(deadline, stop) } -> std::same_as<BasicAwaitable<Held>>;
  { lock.co_acquire(options) } -> std::same_as<BasicAwaitable<Held>>;
};

/// A lock with the lock() and unlock() of the Cpp17TimedLockable requirements. std::unique_lock,
/// std::scoped_lock, boost::unique_lock and similar guards work.
///
/// | call                             | blocks                       | returns false if          |
/// |----------------------------------|------------------------------|---------------------------|
/// | lock()                           | until it is granted          | (returns nothing)         |
/// | lock(stop)                       | until it is granted          | a stop was requested      |
/// | try_lock()                       | for one attempt              | another contender is ahead|
/// | try_lock_for(), try_lock_until() | until it is granted, at most | the time passed           |
/// |                                  | until that time              |                           |
///
/// They acquire for the calling thread, and throw the Errors of AcquiringLock. After `false` the
/// call has left the queue. During a lock delay, try_lock() returns false. Durations and clocks of
/// boost::chrono are accepted. A timeout of zero or less means try_lock(). The timed calls throw
/// not_connected as AcquiringLock states: if the deadline passes while the client is disconnected,
/// before the call has created a znode.
///
/// unlock() undoes one lock() of the calling thread. The lock is released when the owner has undone
/// all its lock() calls and released all its Holds. Does not block: the client deletes the znode in
/// the background. Before you inform others that the lock is free, wait for the delete with
/// Client::flush(). After a loss unlock() reports no error. If a thread exits without unlock(), the
/// client undoes its lock() calls as after a loss: the lock delay applies, and a warning is logged.
/// Throws: Error(not_owner) if the calling thread has no lock() to undo; nothing is changed, and a
/// Hold of that thread is not affected. Error(forked).
///
/// The program should not destroy the object while it is locked. If it does, the lock stays in
/// force until its thread exits, or the client is closed. The thread can also unlock it through
/// another object on the path.
template <class Lock>
concept TimedLock = requires(Lock& lock, std::stop_token stop) {
  lock.lock();
  lock.unlock();
  { lock.lock(stop) } -> std::same_as<bool>;
  { lock.try_lock() } -> std::same_as<bool>;
  { lock.try_lock_for(LeaseClock::duration()) } -> std::same_as<bool>;
  { lock.try_lock_until(LeaseClock::now()) } -> std::same_as<bool>;
};

/// A TimedLock whose owners nest: the owner that holds may lock again, and each lock() needs its
/// own unlock(). Objects on one path of one client share their state: two of them in one thread
/// nest and do not deadlock.
///
/// is_held_by_this_thread() returns whether the calling thread holds with a valid lease. Does not
/// block; sends nothing.
template <class Lock>
concept ReentrantLock = TimedLock<Lock> && requires(const Lock& lock) {
  { lock.is_held_by_this_thread() } -> std::same_as<bool>;
};

/// A lock with a queue of contenders on one path.
///
/// The constructor sends nothing and does not block. The first acquiring call creates the path and
/// its missing ancestors, as containers. Errc::invalid_path says which paths are valid.
/// Throws: Error(invalid_path | closed | forked). Error(invalid_option) if an option is outside its
/// range, see LockOptions.
///
/// participants() returns all contenders in the order in which they are served, the holder first.
/// Contenders that enqueue or leave meanwhile may be missing. Blocks for two round trips.
///
/// queue_position() returns how many contenders are ahead of the one that `owner` has in this
/// client. The default owner is the calling thread. Returns 0 if it is first, nullopt if `owner` is
/// not in the queue. In a class in which calls do not nest, an owner can have several contenders.
/// Then the oldest counts. Blocks for one round trip.
///
/// Both block at most until their deadline. Without one, or if it has passed already, they block
/// for at most ClientOptions::connection_timeout. Both throw Error(no_auth | auth_failed |
/// not_connected | closed | forked | server_error).
template <class Lock>
concept QueuedLock = requires(const Lock& lock, Deadline deadline, std::optional<Owner> owner) {
  { lock.participants(deadline) } -> std::same_as<std::vector<Participant>>;
  { lock.queue_position(owner, deadline) } -> std::same_as<std::optional<std::size_t>>;
  { lock.path() } -> std::same_as<const std::string&>;
};

}  // namespace zklock
