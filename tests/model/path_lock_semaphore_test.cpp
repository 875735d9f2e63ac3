// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: permits.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/path_lock_shared_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class PathLockSemaphoreTest : public PathLockSharedTest {
 protected:
  static Request permits(int wanted, int all = 4) { return LockWorld::permits(wanted, all); }
};

TEST_F(PathLockSemaphoreTest, PermitsWithinCount_AreHeldTogether) {
  const auto two = granted(0, permits(2));
  const auto one = granted(1, permits(1));
  const auto another = granted(2, permits(1));
  const auto three = waiting(0, permits(3));
  const auto small = waiting(1, permits(1));
  release(two);
  EXPECT_EQ(lock_.call(three).outcomes, 0);
  EXPECT_EQ(lock_.call(small).outcomes, 0) << "a request for many permits is not overtaken";
  release(one);
  EXPECT_TRUE(lock_.call(three).granted());
  EXPECT_EQ(lock_.call(small).outcomes, 0);
  release(another);
  EXPECT_TRUE(lock_.call(small).granted());
  EXPECT_EQ(lock_.call(three).hold.permits(), 3);
  release(three);
  release(small);
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, SeveralHoldersAhead_WaiterWatchesThem) {
  std::vector<std::size_t> holders;
  for (std::size_t i = 0; i < 4; ++i) holders.push_back(granted(i % 2, permits(1)));
  const auto one = waiting(2, permits(1));
  EXPECT_EQ(client(2).live_interests(), 4U) << "four of weight one leave no room for one";
  const auto all = waiting(2, permits(4));
  EXPECT_EQ(client(2).live_interests(), 5U) << "one is enough where all are wanted";
  release(holders[0]);
  EXPECT_TRUE(lock_.call(one).granted());
  EXPECT_EQ(client(2).live_interests(), 1U);
  for (std::size_t i = 1; i < 4; ++i) release(holders[i]);
  release(one);
  EXPECT_TRUE(lock_.call(all).granted());
  release(all);
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, Release_WakesAtMostThePermitCount) {
  constexpr std::size_t kWaiters = 12;
  const auto first = granted(0, permits(2, 2));
  std::vector<std::size_t> queued;
  for (std::size_t i = 0; i < kWaiters; ++i) queued.push_back(waiting(1 + i % 2, permits(1, 2)));
  std::size_t worst = 0;
  reset_counts();
  release(first);
  for (const std::size_t each : queued) {
    EXPECT_TRUE(lock_.call(each).granted());
    reset_counts();
    release(each);
    const std::size_t lists =
        client(1).requests(Kind::list_children) + client(2).requests(Kind::list_children);
    worst = std::max(worst, lists);
  }
  EXPECT_LE(worst, 2U);
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, CallCancelledOrTimedOut_LeavesNoWatch) {
  const auto a = granted(0, permits(2));
  const auto b = granted(1, permits(2));
  const auto timed = waiting(2, within(permits(3), 1s));
  const auto cancelled = waiting(2, permits(1));
  EXPECT_GT(client(2).live_interests(), 2U);
  lock_.cancel(cancelled);
  lock_.world().run_for(1s);
  EXPECT_EQ(lock_.call(timed).outcomes + lock_.call(cancelled).outcomes, 2);
  EXPECT_EQ(client(2).live_interests(), 0U);
  EXPECT_EQ(lock_.nodes().size(), 2U);
  release(a);
  release(b);
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, OtherPermitCount_IsRefusedWithoutEffect) {
  const auto holder = granted(0, permits(2, 3));
  const auto odd = lock_.acquire(1, permits(1, 5));
  const auto late = lock_.acquire(2, permits(1, 3));
  run();
  EXPECT_EQ(error(odd), Errc::settings_mismatch);
  EXPECT_TRUE(lock_.call(late).granted());
  EXPECT_EQ(lock_.nodes().size(), 2U);
  release(holder);
  release(late);
  release(granted(1, permits(5, 5)));  // an unused path has no permit count
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, SessionExpiresWhileWaiting_QueuesAgain) {
  const auto a = granted(0, permits(2));
  const auto b = granted(0, permits(2));
  const auto waits = waiting(1, permits(2));
  lock_.world().expire(1);
  lock_.world().run_for(1s);
  EXPECT_EQ(lock_.call(waits).outcomes, 0);
  EXPECT_EQ(lock_.nodes().size(), 3U);
  release(a);
  EXPECT_TRUE(lock_.call(waits).granted());
  release(b);
  release(waits);
  expect_rest();
}

// Other contenders may hold permits, too. So the permits of an owner are no mutex, no read lock and
// no other number of permits.
TEST_F(PathLockSemaphoreTest, OwnerWithPermits_NestsOnlyAsManyPermits) {
  Request two = permits(2);
  const Owner owner = two.owner;
  const auto first = granted(0, two);
  const auto second = granted(0, two);
  EXPECT_EQ(lock_.call(second).token, lock_.call(first).token);
  Request one = permits(1);
  one.owner = owner;
  Request of_five = permits(2, 5);
  of_five.owner = owner;
  const std::vector<Request> others{
      one, of_five, {.owner = owner}, LockWorld::to_read(owner), LockWorld::to_write(owner)};
  for (const Request& other : others) {
    const auto refused = lock_.acquire(0, other);
    run();
    EXPECT_EQ(error(refused), Errc::would_deadlock);
  }
  EXPECT_EQ(lock_.nodes().size(), 1U);
  release(first);
  EXPECT_EQ(lock_.call(second).hold.state(), HoldState::held);
  release(second);
  expect_rest();
}

TEST_F(PathLockSemaphoreTest, UnlockOfLock_ReleasesNoPermits) {
  Request two = permits(2);
  two.kind = core::CountKind::lock;
  const Owner owner = two.owner;
  const auto call = granted(0, two);
  const auto path_lock = lock_.path_lock(0);
  EXPECT_FALSE(path_lock->unlock(owner, core::CountKind::lock));
  EXPECT_FALSE(path_lock->unlock(owner, core::CountKind::lock, Access::shared));
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::held);
  EXPECT_TRUE(path_lock->unlock(owner, core::CountKind::lock, Access::permits));
  run();
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::lost);
}

// A lock excludes all other contenders, so it covers permits of its owner.
TEST_F(PathLockSemaphoreTest, OwnerWithMutex_NestsPermits) {
  Request two = permits(2);
  const auto mutex = granted(0, {.owner = two.owner});
  const auto nested = granted(0, two);
  const auto other = waiting(1, permits(1));
  release(mutex);
  EXPECT_EQ(lock_.call(other).outcomes, 0);
  release(nested);
  EXPECT_TRUE(lock_.call(other).granted());
  release(other);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
