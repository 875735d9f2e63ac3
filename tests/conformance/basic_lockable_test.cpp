// SPDX-License-Identifier: Apache-2.0
// The lock classes meet the lockable requirements of the standard library and of Boost. Boost.Thread
// interrupts a call.
#include <atomic>
#include <chrono>
#include <concepts>
#include <memory>
#include <ratio>
#include <system_error>
#include <type_traits>
#include <utility>

#include <boost/chrono.hpp>
#include <boost/thread/lock_types.hpp>
#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "conformance/lock_test.h"

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

static_assert(requires(ReentrantMutex & mutex, Semaphore& semaphore, AcquireHandler handler) {
  mutex.acquire(50ms);
  mutex.acquire(std::chrono::steady_clock::now());
  mutex.acquire(Deadline::passed());
  semaphore.acquire(50ms, 2);
  mutex.async_acquire(std::move(handler));
});

class Blocked : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
  const std::unique_ptr<Client> other_ = connect();
  Hold others_hold_ = ReentrantMutex(*other_, kPath).acquire();
};

TEST_F(Blocked, BoostClocks_AreAcceptedAsTimeouts) {
  using boost::chrono::milliseconds;
  using boost::chrono::steady_clock;
  const auto soon = milliseconds(50);
  const auto late = boost::chrono::seconds(kTestTimeout.count());
  boost::unique_lock<ReentrantMutex> lock(mutex_, boost::defer_lock);
  EXPECT_FALSE(lock.try_lock_for(soon));
  EXPECT_FALSE(lock.try_lock_until(steady_clock::now()));
  EXPECT_FALSE(lock.try_lock_until(boost::chrono::system_clock::now() + soon));
  others_hold_.release();
  EXPECT_TRUE(lock.try_lock_for(late));
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_until(steady_clock::now() + late));
}

TEST_F(Blocked, InterruptionDisabled_WaitsUntilGranted) {
  std::atomic<bool> granted{false};
  boost::thread thread([&] {
    const boost::this_thread::disable_interruption disabled;
    mutex_.lock();
    granted = true;
    mutex_.unlock();
  });
  EXPECT_TRUE(reaches_nodes(2));
  thread.interrupt();
  EXPECT_EQ(nodes().size(), 2U);
  others_hold_.release();
  thread.join();
  EXPECT_TRUE(granted);
}

}  // namespace
}  // namespace zklock::testing
