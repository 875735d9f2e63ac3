// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "zklock/core/thread_annotations.h"

namespace zklock::client {

/// The engine mutex that the calling thread holds; null if it holds none. Used in asserts only.
inline constinit thread_local const void* engine_mutex_held_here = nullptr;

/// Returns whether the calling thread may block, call code of the user, and write to the user's
/// log: not while it holds an engine mutex. For asserts at the places that do one of these.
inline bool may_block_here() noexcept {
  return engine_mutex_held_here == nullptr;
}

/// A std::mutex that clang's thread-safety analysis knows. It works only between threads of one
/// process. The distributed lock is zklock::Mutex.
class ZKLOCK_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() ZKLOCK_ACQUIRE() { mutex_.lock(); }
  void unlock() noexcept ZKLOCK_RELEASE() { mutex_.unlock(); }
  bool try_lock() noexcept ZKLOCK_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  /// States for the analysis that this thread holds the mutex. Checks nothing.
  void assert_held() const noexcept ZKLOCK_ASSERT_CAPABILITY(this) {}

  /// From now on, a thread that finds the mutex locked spins for some hundred nanoseconds before it
  /// sleeps. To sleep and be woken takes several microseconds. REQUIRES: no thread has used the
  /// mutex.
  void spin_before_sleep() noexcept {
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP  // of glibc
    *mutex_.native_handle() = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
#endif
  }

 private:
  friend class Condition;

  std::mutex mutex_;
};

/// Holds a mutex until unlock() or the destructor.
class ZKLOCK_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ZKLOCK_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  ~MutexLock() ZKLOCK_RELEASE() {
    if (is_held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // The analysis does not see that this object stands for mutex_.
  /// REQUIRES: unlock() was called.
  void lock() ZKLOCK_ACQUIRE() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    is_held_ = true;
  }
  void unlock() noexcept ZKLOCK_RELEASE() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
    is_held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool is_held_ = true;
};

/// Releases a mutex that the caller holds. The destructor locks it again, even after an exception.
class ZKLOCK_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) ZKLOCK_RELEASE(mutex) : mutex_(mutex) { mutex.unlock(); }
  // In a scoped capability, the annotation of the destructor means: undoes what the constructor
  // did. The constructor unlocked the mutex, so the destructor locks it.
  ~MutexUnlock() ZKLOCK_RELEASE() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

/// A std::condition_variable for a Mutex. Each wait can end early without a notification, so it
/// belongs in a loop that checks the condition.
class Condition {
 public:
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

  void wait(Mutex& mutex) noexcept ZKLOCK_REQUIRES(mutex) {
    with_lock(mutex, [this](auto& lock) { changed_.wait(lock); });
  }
  template <class Rep, class Period>
  void wait_for(Mutex& mutex, std::chrono::duration<Rep, Period> longest) noexcept
      ZKLOCK_REQUIRES(mutex) {
    with_lock(mutex, [&](auto& lock) { changed_.wait_for(lock, longest); });
  }
  template <class Clock, class Duration>
  void wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> due) noexcept
      ZKLOCK_REQUIRES(mutex) {
    with_lock(mutex, [&](auto& lock) { changed_.wait_until(lock, due); });
  }
  /// Blocks until `done()` returns true. Returns false if `due` came first. Calls `done` with
  /// `mutex` held. The analysis is off, because it cannot see that `done` requires this mutex.
  template <class Clock, class Duration, class Done>
  bool wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> due, Done done)
      ZKLOCK_REQUIRES(mutex) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
    while (!done()) {
      if (Clock::now() >= due) return false;
      wait_until(mutex, due);
    }
    return true;
  }

 private:
  template <class Wait>
  static void with_lock(Mutex& mutex, Wait wait) noexcept {
    assert(may_block_here());
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    wait(lock);
    lock.release();  // the mutex remains locked
  }

  std::condition_variable changed_;
};

}  // namespace zklock::client
