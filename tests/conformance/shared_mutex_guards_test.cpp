// SPDX-License-Identifier: Apache-2.0
// SharedMutex with the guards of the standard library and of Boost.
#include <concepts>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include <boost/chrono.hpp>
#include <boost/thread/lock_types.hpp>
#include <boost/thread/shared_lock_guard.hpp>
#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/shared_mutex_fixture.h"

namespace zklock::testing {
namespace {

// The part of [thread.sharedtimedmutex.requirements] that std::shared_lock needs.
template <class L>
concept SharedTimedLockable = requires(L& l, std::chrono::duration<double, std::ratio<3, 7>> odd) {
  { l.lock_shared() } -> std::same_as<void>;
  { l.unlock_shared() } -> std::same_as<void>;
  { l.try_lock_shared() } -> std::same_as<bool>;
  { l.try_lock_shared_for(odd) } -> std::same_as<bool>;
  { l.try_lock_shared_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { l.try_lock_for(boost::chrono::milliseconds(1)) } -> std::same_as<bool>;
};

static_assert(SharedTimedLockable<SharedMutex>);
static_assert(!std::copy_constructible<SharedMutex> && !std::move_constructible<SharedMutex>);
static_assert(!SharedTimedLockable<ReentrantMutex> && !SharedTimedLockable<Mutex>);

TEST_F(SharedMutexTest, StandardGuards_SupportAllTheirModes) {
  Hold writing = others_mutex_.acquire();
  EXPECT_FALSE(std::shared_lock(mutex_, std::try_to_lock).owns_lock());
  EXPECT_FALSE(std::shared_lock(mutex_, 50ms).owns_lock());
  EXPECT_FALSE(std::shared_lock(mutex_, std::chrono::steady_clock::now() + 50ms).owns_lock());
  EXPECT_FALSE(std::unique_lock(mutex_, std::try_to_lock).owns_lock());
  EXPECT_FALSE(std::unique_lock(mutex_, 50ms).owns_lock());
  std::shared_lock deferred(mutex_, std::defer_lock);
  EXPECT_FALSE(deferred.try_lock_for(50ms));
  writing.release();
  EXPECT_TRUE(deferred.try_lock_for(kTestTimeout));
  EXPECT_EQ(mutex_.read_count(), 1);
  {
    auto elsewhere = in_thread([&] { return std::shared_lock(others_mutex_).owns_lock(); });
    EXPECT_TRUE(get(elsewhere)) << "together";
  }
  deferred.unlock();
  EXPECT_TRUE(deferred.try_lock_until(std::chrono::system_clock::now() + kTestTimeout));
  std::shared_lock adopted(*deferred.release(), std::adopt_lock);
  adopted.unlock();
  EXPECT_TRUE(std::unique_lock(mutex_, kTestTimeout).owns_lock());
  EXPECT_TRUE(becomes_empty());
}

TEST_F(SharedMutexTest, BoostGuards_LockAndUnlock) {
  const auto timeout = boost::chrono::seconds(kTestTimeout.count());
  {
    boost::shared_lock<SharedMutex> reading(mutex_);
    boost::shared_lock<SharedMutex> together(others_mutex_, timeout);
    EXPECT_TRUE(reading.owns_lock() && together.owns_lock());
    EXPECT_FALSE(boost::unique_lock<SharedMutex>(others_mutex_, boost::defer_lock).owns_lock());
    auto writes = in_thread([&] {
      return boost::unique_lock<SharedMutex>(mutex_, boost::chrono::milliseconds(50)).owns_lock();
    });
    EXPECT_FALSE(get(writes));
  }
  {
    const boost::shared_lock_guard<SharedMutex> reading(mutex_);
    EXPECT_EQ(mutex_.read_count(), 1);
  }
  boost::unique_lock<SharedMutex> writing(mutex_, timeout);
  EXPECT_TRUE(writing.owns_lock());
  EXPECT_FALSE(boost::shared_lock<SharedMutex>(others_mutex_, boost::try_to_lock).owns_lock());
  boost::shared_lock<SharedMutex> late(others_mutex_, boost::defer_lock);
  EXPECT_FALSE(
      late.try_lock_until(boost::chrono::steady_clock::now() + boost::chrono::milliseconds(50)));
  writing.unlock();
  EXPECT_TRUE(late.try_lock_for(timeout));
}

}  // namespace
}  // namespace zklock::testing
