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
