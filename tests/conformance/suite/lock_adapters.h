// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/suite/lock_adapter.h"

namespace zklock::testing {

// A adapter describes one way to use a lock class, in the vocabulary of the suite. To add a class
// to the suite, write such a struct and add it to the list in lock_adapters.cpp. The header
// erased_adapter.h converts it to a LockAdapter and a SuiteLock, which the tests use.
//
// | member                                 | meaning                                              |
// |----------------------------------------|------------------------------------------------------|
// | name                                   | part of the test names                               |
// | Lock, make(client, path, options)      | the lock object, and its maker for one client        |
// | Rival                                  | the adapter of this Lock that excludes this adapter and is |
// |                                        | excluded by it: itself, except for readers           |
// | Grant                                  | result of an acquire: a Hold or a similar type       |
// | nests                                  | whether equal owners hold together                   |
// | shares                                 | whether several owners hold until a rival arrives    |
// | members of CommonTraits                   | the differences from most classes                    |
// | acquire, async_acquire (both)          | have the contract of ReentrantMutex                  |
// | participants(lock)                     | the contenders in the queue                          |
// | lock, lock_or_stop, lock_until,        | optional: see the concept below                      |
// | try_lock, unlock, is_locked            |                                                      |
// | thread_owns                            | whether only the locking thread may unlock           |

template <class F>
concept HasLockAndUnlock = requires(typename F::Lock& lock) {
  F::unlock(lock);
};

template <class F>
concept HasQueuePosition = requires(const typename F::Lock& lock, const Owner& owner) {
  lock.queue_position(owner);
};

// The facts that hold for most classes. A adapter that overrides one says why.
struct CommonTraits {
  // Whether the class needs several ensembles. If so, make() gets one client for each ensemble.
  static constexpr bool kOnEnsembles = false;
  // AcquireOptions::owner is accepted, and the znode names it.
  static constexpr bool kNamed = true;
  // The znode that waits is the znode that holds.
  static constexpr bool kKeepsNode = true;
  static constexpr bool kSeedsCount = false;
  // The lock contends in calls. A call takes a deadline and a stop token, can be a single attempt,
  // and fails if there is no server.
  static constexpr bool kCalls = true;
  // OnNodeLost::fail ends a call whose znode was deleted.
  static constexpr bool kFailsByPolicy = true;
  // A call waits until its deadline, even if the servers are unreachable.
  static constexpr bool kWaitsWithoutServers = true;
  // The loss of one znode frees all that was held, before the release.
  static constexpr bool kFreesAllByLoss = true;
  // A grant is a leadership. It can proclaim a value, and ends by a call or by a loss.
  static constexpr bool kLeads = false;
  // A waiting call is an interruption point of Boost.Thread.
  static constexpr bool kInterrupts = true;
  // ExclusiveOptions::lock_delay: whether there is one, and how many delays add up after a loss.
  static constexpr bool kHasDelay = true;
  static constexpr int kDelays = 1;
  // The events that LockOptions::listener receives.
  static constexpr DeliveredEvents kDelivered = DeliveredEvents::all;
  // The paths at which the lock creates znodes. Other locks queue at the first.
  static std::vector<std::string> paths(const std::string& path) { return {path}; }
};

// Returns the options of a class. Options that the class does not have are left out.
template <class Options>
Options options_of(const CohortOptions& all) {
  Options options;
  options.label = all.label;
  options.on_node_lost = all.on_node_lost;
  options.listener = all.listener;
  options.executor = all.executor;
  options.max_hold = all.max_hold;
  options.expiry_notice = all.expiry_notice;
  if constexpr (requires { options.lock_delay; }) options.lock_delay = all.lock_delay;
  return options;
}

// Common to all classes whose constructor takes client, path and options, and whose acquire takes
// only AcquireOptions.
template <class L, class Options>
struct PlainAdapter : CommonTraits {
  using Lock = L;
  using Grant = Hold;
  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    const CohortOptions& options = {}) {
    if constexpr (std::is_same_v<Options, CohortOptions>) {
      return std::make_unique<Lock>(client, path, options);
    } else {
      return std::make_unique<Lock>(client, path, options_of<Options>(options));
    }
  }
  static Hold acquire(Lock& lock, AcquireOptions options) {
    return lock.acquire(std::move(options));
  }
  static std::future<Hold> async_acquire(Lock& lock, AcquireOptions options) {
    return lock.async_acquire(std::move(options));
  }
  static void async_acquire(Lock& lock, AcquireOptions options, AcquireHandler handler) {
    lock.async_acquire(std::move(options), std::move(handler));
  }
  static std::vector<Participant> participants(const Lock& lock) { return lock.participants(); }
};

// Adds lock() and unlock().
template <class L, class Options>
struct LockableAdapter : PlainAdapter<L, Options> {
  static void lock(L& lock) { lock.lock(); }
  static bool lock_or_stop(L& lock, std::stop_token stop) { return lock.lock(std::move(stop)); }
  static bool lock_until(L& lock, Deadline deadline) { return lock.try_lock_until(deadline.at()); }
  static bool try_lock(L& lock) { return lock.try_lock(); }
  static void unlock(L& lock) { lock.unlock(); }
};

struct ReentrantMutexAdapter : LockableAdapter<ReentrantMutex, CohortOptions> {
  using Rival = ReentrantMutexAdapter;
  static constexpr const char* kName = "ReentrantMutex";
  static constexpr bool kNests = true;
  static constexpr bool kShares = false;
  static constexpr bool kThreadOwns = true;
  static bool is_locked(const Lock& lock) { return lock.is_held_by_this_thread(); }
};

struct MutexAdapter : LockableAdapter<Mutex, CohortOptions> {
  using Rival = MutexAdapter;
  static constexpr const char* kName = "Mutex";
  static constexpr bool kNests = false;
  static constexpr bool kShares = false;
  static constexpr bool kThreadOwns = false;
  static bool is_locked(const Lock& lock) { return lock.is_locked(); }
};

struct WriterAdapter : LockableAdapter<SharedMutex, ExclusiveOptions> {
  using Rival = WriterAdapter;
  static constexpr const char* kName = "Writer";
  static constexpr bool kNests = true;
  static constexpr bool kShares = false;
  static constexpr bool kThreadOwns = true;
  static bool is_locked(const Lock& lock) { return lock.write_count() > 0; }
};

struct ReaderAdapter : PlainAdapter<SharedMutex, ExclusiveOptions> {
  using Rival = WriterAdapter;
  static constexpr const char* kName = "Reader";
  static constexpr bool kNests = true;
  static constexpr bool kShares = true;
  static constexpr bool kThreadOwns = true;
  // A reader leaves no delay.
  static constexpr int kDelays = 0;
  static Hold acquire(Lock& lock, AcquireOptions options) {
    return lock.acquire_shared(std::move(options));
  }
  static std::future<Hold> async_acquire(Lock& lock, AcquireOptions options) {
    return lock.async_acquire_shared(std::move(options));
  }
  static void async_acquire(Lock& lock, AcquireOptions options, AcquireHandler handler) {
    lock.async_acquire_shared(std::move(options), std::move(handler));
  }
  static void lock(Lock& lock) { lock.lock_shared(); }
  static bool lock_or_stop(Lock& lock, std::stop_token stop) {
    return lock.lock_shared(std::move(stop));
  }
  static bool lock_until(Lock& lock, Deadline deadline) {
    return lock.try_lock_shared_until(deadline.at());
  }
  static bool try_lock(Lock& lock) { return lock.try_lock_shared(); }
  static void unlock(Lock& lock) { lock.unlock_shared(); }
  static bool is_locked(const Lock& lock) { return lock.read_count() > 0; }
};

struct PriorityMutexAdapter : LockableAdapter<PriorityMutex, PriorityOptions> {
  using Rival = PriorityMutexAdapter;
  static constexpr const char* kName = "PriorityMutex";
  static constexpr bool kNests = true;
  static constexpr bool kShares = false;
  static constexpr bool kThreadOwns = true;
  // A contender waits with a znode at the gate. The znode that holds is created when it passes the
  // gate.
  static constexpr bool kKeepsNode = false;
  static bool is_locked(const Lock& lock) { return lock.is_held_by_this_thread(); }
};

// `wanted` is more than half of the permits, so two such acquires exclude each other.
template <int wanted, int all>
struct SemaphoreAdapter : PlainAdapter<Semaphore, LockOptions> {
  using Rival = SemaphoreAdapter;
  static constexpr bool kNests = false;
  static constexpr bool kShares = false;
  // Only exclusive locks have one.
  static constexpr bool kHasDelay = false;
  static_assert(2 * wanted > all);

  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    const CohortOptions& options = {}) {
    return std::make_unique<Semaphore>(client, path, all, options_of<LockOptions>(options));
  }
  static Hold acquire(Lock& lock, AcquireOptions options) {
    return lock.acquire(std::move(options), wanted);
  }
  static std::future<Hold> async_acquire(Lock& lock, AcquireOptions options) {
    return lock.async_acquire(std::move(options), wanted);
  }
  static void async_acquire(Lock& lock, AcquireOptions options, AcquireHandler handler) {
    lock.async_acquire(std::move(options), wanted, std::move(handler));
  }
};
// The count is shared. The first contender writes that there is one permit.
struct SharedCountAdapter : SemaphoreAdapter<1, 1> {
  static constexpr bool kSeedsCount = true;
  using Rival = SharedCountAdapter;
  static constexpr const char* kName = "SemaphoreOfSharedCount";
  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    const CohortOptions& options = {}) {
    return std::make_unique<Semaphore>(client, path, SharedCount{.initial = 1},
                                       options_of<LockOptions>(options));
  }
};
struct OnePermitAdapter : SemaphoreAdapter<1, 1> {
  static constexpr const char* kName = "SemaphoreOf1";
};
struct TwoPermitsAdapter : SemaphoreAdapter<2, 3> {
  static constexpr const char* kName = "SemaphoreTwoOf3";
};

}  // namespace zklock::testing
