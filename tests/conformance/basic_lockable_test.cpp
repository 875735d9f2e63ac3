// SPDX-License-Identifier: Apache-2.0
// The lock classes meet the lockable requirements of the standard library and of Boost. The guards
// are used with ReentrantMutex.
#include <chrono>
#include <concepts>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include <boost/chrono.hpp>
#include <boost/thread/lock_algorithms.hpp>
#include <boost/thread/lock_types.hpp>
#include <gtest/gtest.h>

#include "conformance/blockable_test.h"

namespace zklock::testing {
namespace {

// [thread.req.lockable] of the C++ standard.
template <class L>
concept Cpp17BasicLockable = requires(L& l) {
  { l.lock() } -> std::same_as<void>;
  { l.unlock() } -> std::same_as<void>;
};
template <class L>
concept Cpp17Lockable = Cpp17BasicLockable<L> && requires(L& l) {
  { l.try_lock() } -> std::same_as<bool>;
};
template <class L>
concept Cpp17TimedLockable = Cpp17Lockable<L> &&
    requires(L& l, std::chrono::duration<double, std::ratio<3, 7>> odd) {
  { l.try_lock_for(std::chrono::milliseconds(1)) } -> std::same_as<bool>;
  { l.try_lock_for(odd) } -> std::same_as<bool>;
  { l.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { l.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
  { l.try_lock_until(LeaseClock::now()) } -> std::same_as<bool>;
};
// The requirements of boost::unique_lock and boost::lock_guard, with the clocks of Boost.
template <class L>
concept BoostTimedLockable = Cpp17Lockable<L> &&
    requires(L& l, boost::chrono::steady_clock::time_point at) {
  { l.try_lock_for(boost::chrono::milliseconds(1)) } -> std::same_as<bool>;
  { l.try_lock_until(at) } -> std::same_as<bool>;
};

// The part of [thread.sharedtimedmutex.requirements] that std::shared_lock and boost::shared_lock
// need.
template <class L>
concept SharedTimedLockable = requires(L& l, std::chrono::duration<double, std::ratio<3, 7>> odd) {
  { l.lock_shared() } -> std::same_as<void>;
  { l.unlock_shared() } -> std::same_as<void>;
  { l.try_lock_shared() } -> std::same_as<bool>;
  { l.try_lock_shared_for(odd) } -> std::same_as<bool>;
  { l.try_lock_shared_for(boost::chrono::milliseconds(1)) } -> std::same_as<bool>;
  { l.try_lock_shared_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { l.try_lock_shared_until(boost::chrono::steady_clock::now()) } -> std::same_as<bool>;
};

template <class L>
concept StandardAndBoostLockable = Cpp17TimedLockable<L> && BoostTimedLockable<L>;

static_assert(StandardAndBoostLockable<Mutex> && StandardAndBoostLockable<SharedMutex>);
static_assert(StandardAndBoostLockable<PriorityMutex> && StandardAndBoostLockable<MultiMutex>);
static_assert(StandardAndBoostLockable<QuorumMutex> && SharedTimedLockable<SharedMutex>);
static_assert(!std::copy_constructible<SharedMutex> && !std::move_constructible<SharedMutex>);
static_assert(!SharedTimedLockable<ReentrantMutex> && !SharedTimedLockable<Mutex>);
static_assert(Cpp17TimedLockable<ReentrantMutex>);
static_assert(!std::copy_constructible<ReentrantMutex> && !std::move_constructible<ReentrantMutex>);
static_assert(!std::is_copy_assignable_v<ReentrantMutex> &&
              !std::is_move_assignable_v<ReentrantMutex>);
static_assert(!std::copy_constructible<Client> && !std::move_constructible<Client>);

static_assert(std::is_nothrow_default_constructible_v<Hold>);
static_assert(std::is_nothrow_move_constructible_v<Hold> &&
              std::is_nothrow_move_assignable_v<Hold> && std::is_nothrow_destructible_v<Hold> &&
              std::is_nothrow_swappable_v<Hold>);
static_assert(!std::copy_constructible<Hold> && !std::is_copy_assignable_v<Hold>);
static_assert(noexcept(std::declval<Hold&>().release()));
static_assert(noexcept(std::declval<const Hold&>().state()));
static_assert(noexcept(std::declval<const Hold&>().token()));
static_assert(noexcept(std::declval<const Hold&>().loss_token()));

static_assert(std::regular<FencingToken> && std::totally_ordered<FencingToken>);
static_assert(std::copyable<Owner> && std::totally_ordered<Owner>);
static_assert(std::derived_from<Error, std::system_error>);

// These expressions must not compile.
template <class M>
concept LockableForANumber = requires(M& m) {
  m.try_lock_for(5);
};
template <class M>
concept LockableUntilADuration = requires(M& m) {
  m.try_lock_until(std::chrono::seconds(5));
};
template <class M>
concept AcquirableWithANumber = requires(M& m) {
  m.acquire({.deadline = 5});
};
template <class M>
concept AcquirableForANumber = requires(M& m) {
  m.acquire(5);
};
template <class M>
concept LockableWhileConst = requires(const M& m) {
  m.lock();
};
template <class H>
concept ComparableWithHold = requires(const H& h) {
  h == h;
};
template <class T>
concept ComparableWithANumber = requires(const T& t) {
  t < 5;
};
template <class M>
concept ConstructibleFromTemporaryClient = requires {
  M(Client("127.0.0.1:1"), "/lock");
};
static_assert(!LockableForANumber<ReentrantMutex>);
static_assert(!LockableUntilADuration<ReentrantMutex>);
static_assert(!AcquirableWithANumber<ReentrantMutex>);
static_assert(!AcquirableForANumber<ReentrantMutex> && !AcquirableForANumber<SharedMutex>);
static_assert(!LockableWhileConst<ReentrantMutex>);
static_assert(!ConstructibleFromTemporaryClient<ReentrantMutex>);
static_assert(!ComparableWithHold<Hold>);
static_assert(!ComparableWithANumber<FencingToken> && !ComparableWithANumber<Owner>);
static_assert(!std::is_convertible_v<Hold, bool> && std::is_constructible_v<bool, Hold>);
static_assert(!std::default_initializable<Owner> && !std::constructible_from<Owner, int>);

using Lockable = BlockableTest;

TEST_F(Lockable, UniqueLockConstructors_LockOrFailAsSpecified) {
  block();
  EXPECT_FALSE(std::unique_lock(mutex_, std::try_to_lock).owns_lock());
  EXPECT_FALSE(std::unique_lock(mutex_, 50ms).owns_lock());
  EXPECT_FALSE(std::unique_lock(mutex_, std::chrono::steady_clock::now() + 50ms).owns_lock());
  EXPECT_FALSE(std::unique_lock(mutex_, std::chrono::system_clock::now() + 50ms).owns_lock());
  std::unique_lock deferred(mutex_, std::defer_lock);
  EXPECT_FALSE(deferred.try_lock());
  EXPECT_FALSE(deferred.try_lock_for(50ms));
  unblock();

  EXPECT_TRUE(deferred.try_lock_for(kTestTimeout));
  deferred.unlock();
  EXPECT_TRUE(deferred.try_lock_until(std::chrono::steady_clock::now() + kTestTimeout));
  deferred.unlock();
  deferred.lock();
  std::unique_lock adopted(*deferred.release(), std::adopt_lock);
  EXPECT_TRUE(adopted.owns_lock());
  EXPECT_EQ(mutex_.hold_count(), 1);
  adopted.unlock();
  EXPECT_TRUE(std::unique_lock(mutex_, kTestTimeout).owns_lock());
  EXPECT_TRUE(becomes_empty());
}

// Objects cannot be moved, like those of std::mutex. These containers do not move their elements.
TEST_F(Lockable, ContainersOfMutexes_AreUsable) {
  std::map<std::string, ReentrantMutex> by_path;
  std::deque<Mutex> in_a_row;
  for (const std::string path : {"/a", "/b"}) {
    by_path.try_emplace(path, *client_, path);
    in_a_row.emplace_back(*client_, path + "/below");
  }
  const std::scoped_lock all(by_path.at("/a"), by_path.at("/b"), in_a_row[0], in_a_row[1]);
  EXPECT_TRUE(by_path.at("/b").is_held_by_this_thread());
  EXPECT_TRUE(in_a_row[1].is_locked());
}

TEST_F(Lockable, DeadlineAlone_IsEnoughForAcquire) {
  block();
  EXPECT_FALSE(mutex_.acquire(50ms));
  EXPECT_FALSE(mutex_.acquire(std::chrono::steady_clock::now() + 50ms));
  EXPECT_FALSE(mutex_.acquire(Deadline::passed()));
  unblock();
  EXPECT_TRUE(mutex_.acquire(kTestTimeout));

  Semaphore semaphore(*client_, "/permits", 2);
  const Permit both = semaphore.acquire(kTestTimeout, 2);
  EXPECT_EQ(both.permits(), 2);
  EXPECT_FALSE(semaphore.acquire({.deadline = 50ms}));
}

TEST_F(Lockable, HandlerAlone_IsEnoughForAsyncAcquire) {
  std::promise<bool> granted;
  mutex_.async_acquire(
      [&](const Hold& hold, const std::exception_ptr&) { granted.set_value(bool{hold}); });
  auto result = granted.get_future();
  EXPECT_TRUE(get(result));
}

TEST_F(Lockable, BoostUniqueLock_LocksAndUnlocks) {
  {
    const boost::unique_lock<ReentrantMutex> lock(mutex_);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_FALSE(others_mutex_.try_lock());
  }
  block();
  boost::unique_lock<ReentrantMutex> lock(mutex_, boost::try_to_lock);
  EXPECT_FALSE(lock.owns_lock());
  unblock();
  lock.lock();
  EXPECT_TRUE(mutex_.is_held_by_this_thread());
  lock.unlock();
  EXPECT_TRUE(becomes_empty());
}

// A template: if the clocks of Boost are not accepted, the test fails instead of the build.
template <class Mutex>
void use_boost_clocks(Mutex& mutex, const std::function<void()>& unblock) {
  if constexpr (BoostTimedLockable<Mutex>) {
    boost::unique_lock<Mutex> lock(mutex, boost::defer_lock);
    EXPECT_FALSE(lock.try_lock_for(boost::chrono::milliseconds(50)));
    EXPECT_FALSE(lock.try_lock_until(boost::chrono::steady_clock::now()));
    EXPECT_FALSE(
        lock.try_lock_until(boost::chrono::system_clock::now() + boost::chrono::milliseconds(50)));
    unblock();
    EXPECT_TRUE(lock.try_lock_for(boost::chrono::seconds(kTestTimeout.count())));
    lock.unlock();
    EXPECT_TRUE(lock.try_lock_until(boost::chrono::steady_clock::now() +
                                    boost::chrono::seconds(kTestTimeout.count())));
  } else {
    unblock();
    FAIL() << "try_lock_for and try_lock_until do not take boost::chrono";
  }
}

TEST_F(Lockable, BoostClocks_AreAcceptedAsTimeouts) {
  block();
  use_boost_clocks(mutex_, [this] { unblock(); });
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Lockable, BoostLock_AcquiresBothOrNeither) {
  ReentrantMutex second(*client_, "/second");
  boost::lock(mutex_, second);
  EXPECT_TRUE(mutex_.is_held_by_this_thread());
  EXPECT_TRUE(second.is_held_by_this_thread());
  second.unlock();
  mutex_.unlock();

  block();
  EXPECT_EQ(boost::try_lock(second, mutex_), 1);  // index of the second one
  EXPECT_FALSE(second.is_held_by_this_thread());
  EXPECT_TRUE(becomes_empty("/second"));
}

}  // namespace
}  // namespace zklock::testing
