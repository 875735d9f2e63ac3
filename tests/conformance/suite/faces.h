// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/suite/face.h"

namespace zklock::testing {

// A face is one way to use a lock class, in the few words that the suite knows. To put a class
// under the suite, write one of these structs, and add it to the list in faces.cpp. The tests see
// it as a Face and a SuiteLock, which erased_face.h makes of it.
//
// | member                                 | meaning                                              |
// |----------------------------------------|------------------------------------------------------|
// | name                                   | in the names of the tests                            |
// | Lock, make(client, path, options)      | what it makes for one client                         |
// | Rival                                  | the face (of the same Lock) that excludes this one   |
// |                                        | and is excluded by it: itself, but for readers       |
// | Grant                                  | what it gets: a Hold, or what answers like one       |
// | nests                                  | equal owners hold together                           |
// | shares                                 | several owners hold together, until a rival comes    |
// | what UsualFace has                     | where the class is unlike the others, and why        |
// | acquire, async_acquire (both)          | as those of ReentrantMutex                           |
// | participants(lock)                     |                                                      |
// | lock, lock_until, unlock, is_locked    | only where the class has them: see the concept below |
// | thread_owns                            | with them: what a thread locked, no other unlocks    |

template <class F>
concept HasLockAndUnlock = requires(typename F::Lock& lock) {
  F::unlock(lock);
};

// What most classes have in common. A face that says otherwise says why.
struct UsualFace {
  // It is made for one client; where not, make() gets those of a process, one for each ensemble.
  static constexpr bool on_ensembles = false;
  // An owner may be given, and is who the node names.
  static constexpr bool named = true;
  // The node that waits is the one that will hold.
  static constexpr bool keeps_node = true;
  static constexpr bool seeds_count = false;
  // It contends in calls, which have a deadline and a stop, may be a single attempt, and end with
  // an error when there is no server.
  static constexpr bool calls = true;
  // OnNodeLost::fail ends a call whose node has gone.
  static constexpr bool fails_by_policy = true;
  // A call waits until its deadline, also when the servers are gone.
  static constexpr bool waits_without_servers = true;
  // When one of its nodes goes, all that it held is free for others, before it is released.
  static constexpr bool frees_all_by_loss = true;
  // Its grants are leaderships: they proclaim, and end when the program says so, or by a loss.
  static constexpr bool leads = false;
  // Waiting in its calls is an interruption point of Boost.Thread.
  static constexpr bool interrupts = true;
  // MutexOptions::lock_delay: refused; else how many of them add up for who is next after a loss.
  static constexpr bool refuses_delay = false;
  static constexpr int delays = 1;
  // What MutexOptions::listener is told.
  static constexpr Hears hears = Hears::all;
  // The paths that it takes nodes on; the first is where others queue.
  static std::vector<std::string> paths(const std::string& path) { return {path}; }
};

// What is the same for all that are made from client, path and options, and acquire with
// AcquireOptions alone.
template <class L>
struct PlainFace : UsualFace {
  using Lock = L;
  using Grant = Hold;
  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    MutexOptions options = {}) {
    return std::make_unique<Lock>(client, path, options);
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

// With lock() and unlock() besides.
template <class L>
struct LockableFace : PlainFace<L> {
  static void lock(L& lock) { lock.lock(); }
  static bool lock_until(L& lock, Deadline deadline) { return lock.try_lock_until(deadline.at()); }
  static bool try_lock(L& lock) { return lock.try_lock(); }
  static void unlock(L& lock) { lock.unlock(); }
};

struct ReentrantMutexFace : LockableFace<ReentrantMutex> {
  using Rival = ReentrantMutexFace;
  static constexpr const char* name = "ReentrantMutex";
  static constexpr bool nests = true;
  static constexpr bool shares = false;
  static constexpr bool thread_owns = true;
  static bool is_locked(const Lock& lock) { return lock.is_held_by_this_thread(); }
};

struct MutexFace : LockableFace<Mutex> {
  using Rival = MutexFace;
  static constexpr const char* name = "Mutex";
  static constexpr bool nests = false;
  static constexpr bool shares = false;
  static constexpr bool thread_owns = false;
  static bool is_locked(const Lock& lock) { return lock.is_locked(); }
};

struct WriterFace : LockableFace<SharedMutex> {
  using Rival = WriterFace;
  static constexpr const char* name = "Writer";
  static constexpr bool nests = true;
  static constexpr bool shares = false;
  static constexpr bool thread_owns = true;
  static bool is_locked(const Lock& lock) { return lock.write_count() > 0; }
};

struct ReaderFace : PlainFace<SharedMutex> {
  using Rival = WriterFace;
  static constexpr const char* name = "Reader";
  static constexpr bool nests = true;
  static constexpr bool shares = true;
  static constexpr bool thread_owns = true;
  // Readers leave none.
  static constexpr int delays = 0;
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
  static bool lock_until(Lock& lock, Deadline deadline) {
    return lock.try_lock_shared_until(deadline.at());
  }
  static bool try_lock(Lock& lock) { return lock.try_lock_shared(); }
  static void unlock(Lock& lock) { lock.unlock_shared(); }
  static bool is_locked(const Lock& lock) { return lock.read_count() > 0; }
};

struct PriorityMutexFace : LockableFace<PriorityMutex> {
  using Rival = PriorityMutexFace;
  static constexpr const char* name = "PriorityMutex";
  static constexpr bool nests = true;
  static constexpr bool shares = false;
  static constexpr bool thread_owns = true;
  // Who waits stands at the gate; the node that holds is made when it passes.
  static constexpr bool keeps_node = false;
  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    MutexOptions options = {}) {
    return std::make_unique<Lock>(client, path, PriorityOptions{.mutex = std::move(options)});
  }
  static bool is_locked(const Lock& lock) { return lock.is_held_by_this_thread(); }
};

// More than half of the permits: two exclude each other.
template <int wanted, int all>
struct SemaphoreFace : PlainFace<Semaphore> {
  using Rival = SemaphoreFace;
  static constexpr bool nests = false;
  static constexpr bool shares = false;
  // It is for what excludes all others.
  static constexpr bool refuses_delay = true;
  static_assert(2 * wanted > all);

  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    MutexOptions options = {}) {
    return std::make_unique<Semaphore>(client, path, all, options);
  }
  static Hold acquire(Lock& lock, AcquireOptions options) {
    return lock.acquire(wanted, std::move(options));
  }
  static std::future<Hold> async_acquire(Lock& lock, AcquireOptions options) {
    return lock.async_acquire(wanted, std::move(options));
  }
  static void async_acquire(Lock& lock, AcquireOptions options, AcquireHandler handler) {
    lock.async_acquire(wanted, std::move(options), std::move(handler));
  }
};
// Where the number of permits is shared, whoever comes first says that there is one.
struct SharedCountFace : SemaphoreFace<1, 1> {
  static constexpr bool seeds_count = true;
  using Rival = SharedCountFace;
  static constexpr const char* name = "SemaphoreOfSharedCount";
  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    MutexOptions options = {}) {
    return std::make_unique<Semaphore>(client, path, SharedCount{.initial = 1}, options);
  }
};
struct OnePermitFace : SemaphoreFace<1, 1> {
  static constexpr const char* name = "SemaphoreOf1";
};
struct TwoPermitsFace : SemaphoreFace<2, 3> {
  static constexpr const char* name = "SemaphoreTwoOf3";
};

}  // namespace zklock::testing
