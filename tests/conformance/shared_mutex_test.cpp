// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <shared_mutex>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class SharedMutexTest : public LockTest {};

TEST_F(SharedMutexTest, ReadersHoldTogetherAndAWriterWaitsForAllOfThem) {
  const auto client = connect();
  SharedMutex mutex(*client, kPath);
  Hold first = mutex.acquire_shared({.owner = Owner::unique()});
  Hold second = mutex.acquire_shared({.owner = Owner::unique()});
  auto writer = mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  first.release();
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(writer));
  second.release();
  EXPECT_EQ(get(writer).state(), HoldState::held);
}

TEST_F(SharedMutexTest, AReaderBehindAWaitingWriterWaits) {
  const auto client = connect();
  SharedMutex mutex(*client, kPath);
  Hold reader = mutex.acquire_shared({.owner = Owner::unique()});
  auto writer = mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  auto late = mutex.async_acquire_shared();
  ASSERT_TRUE(reaches_nodes(3));
  reader.release();
  Hold written = get(writer);
  EXPECT_FALSE(is_ready(late));
  const FencingToken token = written.token();
  written.release();
  EXPECT_GT(get(late).token(), token);
}

TEST_F(SharedMutexTest, AnUpgradeIsRefusedAtOnce) {
  const auto client = connect();
  SharedMutex mutex(*client, kPath);
  const std::shared_lock reading(mutex);
  EXPECT_EQ(error_of([&] { return mutex.try_lock(); }), Errc::would_deadlock);
  EXPECT_EQ(error_of([&] {
              mutex.lock();
              return 0;
            }),
            Errc::would_deadlock);
  EXPECT_EQ(mutex.read_count(), 1);
  EXPECT_EQ(nodes().size(), 1U);
}

TEST_F(SharedMutexTest, ADowngradeKeepsThePlaceAndTheToken) {
  const auto client = connect();
  SharedMutex mutex(*client, kPath);
  const Owner owner = Owner::unique();
  Hold writing = mutex.acquire({.owner = owner});
  auto rival = mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  Hold reading = mutex.acquire_shared({.owner = owner});
  EXPECT_EQ(reading.token(), writing.token());
  writing.release();
  EXPECT_EQ(reading.state(), HoldState::held);
  EXPECT_FALSE(is_ready(rival));
  EXPECT_EQ(error_of([&] { return mutex.acquire({.owner = owner}); }), Errc::would_deadlock);
  reading.release();
  EXPECT_TRUE(get(rival));
}

class SemaphoreTest : public LockTest {};

TEST_F(SemaphoreTest, GrantsAsManyAsThereAre) {
  const auto client = connect();
  Semaphore semaphore(*client, kPath, 3);
  Permit two = semaphore.acquire(2);
  Permit one = semaphore.acquire();
  EXPECT_EQ(two.permits(), 2);
  EXPECT_FALSE(semaphore.try_acquire());
  auto both = semaphore.async_acquire(2);
  ASSERT_TRUE(reaches_nodes(3));
  one.release();
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(both));
  two.release();
  EXPECT_EQ(get(both).permits(), 2);
}

TEST_F(SemaphoreTest, AnotherNumberOfPermitsIsRefused) {
  const auto client = connect();
  Semaphore three(*client, kPath, 3);
  Semaphore four(*client, kPath, 4);
  const Permit permit = three.acquire();
  EXPECT_EQ(error_text_of([&] { return four.acquire(); }),
            "lock /lock: others before it count on 3 permits, this one on 4 permits [zklock:23]");
}

}  // namespace
}  // namespace zklock::testing
