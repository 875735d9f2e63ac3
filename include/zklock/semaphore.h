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

/// Permits of a Semaphore. A Permit is a Hold, with a token, a lease and a loss. Its destructor
/// releases the permits, on any thread.
using Permit = Hold;

/// Selects a shared permit count for a Semaphore. The ensemble stores the count, and it can be
/// changed while the semaphore is in use.
///
/// Thread-safety: a value.
struct SharedCount {
  /// The permit count that a contender stores if none is stored yet. Otherwise the stored count
  /// applies. The value is 0 or more; with 0 every contender waits.
  int initial = 1;
};

/// A fair, fenced counting semaphore over all processes.
///
/// A contender that requests several permits is granted all of them at once, or none. So two
/// contenders that each request 3 of 4 permits never deadlock: one is granted, the other waits.
/// Contenders are granted first come, first served: a small request does not overtake a large one.
/// A semaphore belongs to no thread, and calls do not nest. Mutexes and SharedMutexes on the path
/// share its queue; none of them is held together with a permit.
///
/// The permit count is either fixed or shared. All contenders on a path must use the same kind. A
/// contender that uses the other kind gets Error(settings_mismatch).
///
/// Fixed count: every contender states the count. If it differs from the count of the first
/// contender of a semaphore in the queue, the call throws Error(settings_mismatch), too.
///
/// Shared count (SharedCount): the znode `count` below the path stores it, as a decimal number. The
/// znode remains when the semaphore is not in use. People may read and write it with their own
/// tools. Every contender reads the count after it has enqueued.
///
/// If the count is raised, waiting contenders are granted, as many as fit. If the count is lowered,
/// no holder loses a permit. No further contender is granted until its permits and all held permits
/// together fit the new count. Exception: until a client has received the change, it can still
/// grant by the previous count. After each change every waiting contender lists the queue once.
///
/// If the znode `count` is deleted, held permits stay valid. Then the waiting contenders, or the
/// next new one, store their initial count again. If the data are not a count, waiting and new
/// contenders get Error(bad_data). That ends when set_permits() or another writer corrects the
/// data. If the ACL does not permit the client to read or to create the znode, its contenders get
/// Error(no_auth).
///
/// Permits can have a maximum hold time, by LockOptions::max_hold or AcquireOptions::max_hold. When
/// it ends, the permits are lost, and can be granted to the next contender. The listener gets
/// LockEvent `expiring` before the end, and `expired` at the end. Hold::state() then returns
/// `lost`. The release of an expired Permit does nothing; it does not affect a later holder.
///
/// The class meets AcquiringLock and QueuedLock, which state the contracts of its members; see
/// lock_concepts.h. Differences:
///
/// | member               | difference                                                        |
/// |----------------------|-------------------------------------------------------------------|
/// | AcquireOptions.owner | does not nest; identifies the contender for queue_position(), and |
/// |                      | for people, in the znode                                          |
/// | all calls            | throw no lock_lost or would_deadlock; throw settings_mismatch or  |
/// |                      | bad_data, see above                                               |
/// | acquiring call       | throws invalid_option for less than one permit, or more than a    |
/// |                      | fixed count, and sends nothing                                    |
/// | Participant::holds   | is true for the contenders whose permits fit the count. Holders   |
/// |                      | that do not fit a lowered count retain their permits, but are     |
/// |                      | shown as waiting, even in LockState                               |
/// | participants()       | with a shared count, takes one round trip more and throws         |
/// |                      | bad_data, too                                                     |
///
/// A request for more than a shared count is no error, because the count may be raised. The call
/// waits for that, and the contenders behind it wait too. Objects cannot be moved; see
/// ReentrantMutex for containers.
///
/// Cost: if no contender waits, an acquire takes one round trip, of two requests with a fixed count
/// and three with a shared one. A waiting contender watches the contenders directly ahead of it, at
/// most as many as the count. With a shared count it also watches the znode `count`. A contender
/// that leaves the queue wakes at most as many others as there are permits.
///
/// Tokens rise in the order of arrival. Permit objects that are held at the same time have
/// different tokens. Source: org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2 and
/// ...recipes.shared.SharedCount. Source: Redisson's RSemaphore and RPermitExpirableSemaphore.
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: an acquiring call that waits; see AcquiringLock.
class ZKLOCK_EXPORT Semaphore {
 public:
  /// Makes a semaphore with a fixed count of `permits`. See QueuedLock.
  /// Throws: also Error(invalid_option) for less than one permit.
  Semaphore(Client& client, std::string path, int permits, const LockOptions& options = {});
  /// Makes a semaphore with a shared count. See QueuedLock.
  /// Throws: also Error(invalid_option) for an initial count below 0.
  Semaphore(Client& client, std::string path, SharedCount permits, const LockOptions& options = {});
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore();

  /// See AcquiringLock. A grant has all `permits` permits.
  Permit acquire(AcquireOptions options = {}, int permits = 1);
  template <DeadlineLike D>
  Permit acquire(D deadline, int permits = 1) {
    return acquire({.deadline = deadline}, permits);
  }
  /// The functions with a count alone are templates, so that `acquire({})` passes options.
  template <std::integral Count>
  Permit acquire(Count permits) {
    return acquire({}, static_cast<int>(permits));
  }
  void async_acquire(AcquireOptions options, int permits, AcquireHandler handler);
  void async_acquire(AcquireOptions options, AcquireHandler handler) {
    async_acquire(std::move(options), 1, std::move(handler));
  }
  template <std::convertible_to<AcquireHandler> H>
  void async_acquire(H handler) {
    async_acquire({}, AcquireHandler(std::move(handler)));
  }
  [[nodiscard]] std::future<Permit> async_acquire(AcquireOptions options = {}, int permits = 1);
  template <std::integral Count>
  [[nodiscard]] std::future<Permit> async_acquire(Count permits) {
    return async_acquire({}, static_cast<int>(permits));
  }
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {},
                       int permits = 1);
  template <std::integral Count>
  Awaitable co_acquire(Count permits) {
    return co_acquire(Deadline::never(), {}, static_cast<int>(permits));
  }
  Awaitable co_acquire(const AcquireOptions& options, int permits = 1);
  Awaitable co_acquire(AcquireOptions&& options, int permits = 1) = delete;

  /// Makes one attempt, without waiting behind other contenders. Returns an empty Permit if too few
  /// permits are free. Blocks for the round trips of that attempt. Throws what acquire() throws.
  Permit try_acquire(int permits = 1);

  /// See QueuedLock.
  [[nodiscard]] std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;
  [[nodiscard]] std::optional<std::size_t> queue_position(
      std::optional<Owner> owner = std::nullopt, Deadline deadline = Deadline::never()) const;

  /// Returns the number of permits that no contender holds or waits for, at least 0. Returns 0
  /// while a contender of another lock class is in the queue. The result may be out of date at the
  /// return. Blocks for two round trips with a fixed count, for three with a shared one.
  /// Throws what participants() throws.
  [[nodiscard]] int available_permits(Deadline deadline = Deadline::never()) const;

  /// Returns the permit count. If it is fixed, the call does not block and throws nothing.
  ///
  /// A shared count is read from the servers. If none is stored yet, the call returns the initial
  /// count and stores nothing. Blocks for one round trip, at most until `deadline`. Without a
  /// deadline, or with one that has passed, the call makes one attempt, and blocks for at most
  /// ClientOptions::connection_timeout. The call is a Boost.Thread interruption point. Throws:
  /// Error(bad_data | no_auth | auth_failed | not_connected | closed | forked | server_error).
  [[nodiscard]] int permits(Deadline deadline = Deadline::never()) const;

  /// Sets the shared count to `permits`, and creates its znode if necessary. If two changes are
  /// concurrent, the later one remains. Blocks as permits() does.
  ///
  /// Throws Error:
  ///
  /// | code                                        | meaning                                      |
  /// |---------------------------------------------|----------------------------------------------|
  /// | invalid_option                              | `permits` is below 0, or the count is fixed; |
  /// |                                             | nothing was sent                             |
  /// | no_auth, auth_failed, no_chroot,            | the count was not changed                    |
  /// | quota_exceeded, read_only, server_error,    |                                              |
  /// | forked                                      |                                              |
  /// | not_connected                               | no server was reached                        |
  /// | outcome_unknown, closed                     | the count may have been changed              |
  ///
  /// Source: org.redisson.api.RSemaphore, SharedCount.setCount.
  void set_permits(int permits, Deadline deadline = Deadline::never());

  /// Adds `change`, which may be negative, to the shared count. Returns the new count. Concurrent
  /// changes are all applied. Blocks as permits() does. After outcome_unknown, read permits()
  /// before another attempt.
  /// Throws what set_permits() throws. Also throws Error(bad_data), and Error(invalid_option) if
  /// the sum is below 0 or above 2147483647.
  /// Source: org.redisson.api.RSemaphore.addPermits, SharedCount.trySetCount.
  int add_permits(int change, Deadline deadline = Deadline::never());

  /// Returns the path of the lock, below the chroot.
  [[nodiscard]] const std::string& path() const noexcept;

 private:
  ZKLOCK_HIDDEN void check_shared(const char* operation) const;

  std::shared_ptr<detail::LockHandle> lock_handle_;
  const bool shared_;
  const int permits_;  ///< fixed count, or initial shared count
};

}  // namespace zklock
