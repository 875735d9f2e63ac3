// SPDX-License-Identifier: Apache-2.0
// The path lock adapts to the other contenders that it has seen. It decides whether to count the
// children, and whether to announce a release.
#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class PathLockCrowd : public PathLockTest {
 protected:
  void SetUp() override {
    PathLockTest::SetUp();
    path_lock_ = lock_.path_lock(1);
  }
  void TearDown() override { path_lock_.reset(); }

  // Client 1 waits as often as the path lock needs to regard the path as crowded.
  void crowd() {
    for (int i = 0; i < 4; ++i) {
      const auto first = granted(0);
      const auto second = waiting(1);
      release(first);
      ASSERT_TRUE(lock_.call(second).granted());
      release(second);
    }
    reset_counts();
  }

  std::shared_ptr<detail::PathLock> path_lock_;  ///< kept, as a mutex object does
};

TEST_F(PathLockCrowd, FourWaits_FifthSendsNoCount) {
  crowd();
  const auto first = granted(0);
  const auto second = waiting(1);
  EXPECT_EQ(client(1).requests(Kind::create_contender), 1U);
  EXPECT_EQ(client(1).requests(Kind::get_and_watch), 1U);
  EXPECT_EQ(client(1).requests(), 2U);
  release(first);
  EXPECT_TRUE(lock_.call(second).granted());
  EXPECT_EQ(client(1).requests(), 2U);
  release(second);
  expect_rest();
}

TEST_F(PathLockCrowd, QueueFoundEmpty_CountsNextTime) {
  crowd();
  release(granted(1));
  EXPECT_EQ(client(1).requests(Kind::count_children), 0U);
  EXPECT_EQ(client(1).requests(Kind::list_children), 1U) << "there was no contender to watch";
  reset_counts();
  release(granted(1));
  EXPECT_EQ(client(1).requests(Kind::count_children), 1U);
  EXPECT_EQ(client(1).requests(), 3U);
  expect_rest();
}

TEST_F(PathLockCrowd, NotAnnounced_WaiterListsAndIsGranted) {
  const auto call = granted_after(100ms, 1);
  const auto next = waiting(0);
  reset_counts();
  release(call);
  EXPECT_EQ(client(1).requests(Kind::announce_and_delete), 0U);
  EXPECT_EQ(client(0).requests(Kind::list_children), 1U);
  EXPECT_TRUE(is_granted(next));
  release(next);
  expect_rest();
}

TEST_F(PathLockCrowd, LongHold_ReleaseIsAnnounced) {
  const auto call = granted_after(100ms, 1);
  run_for(100ms);
  reset_counts();
  lock_.release(call);
  EXPECT_EQ(client(1).requests(Kind::announce_and_delete), 1U);
  expect_rest();
}

TEST_F(PathLockCrowd, OneOfEightGrantsWaited_ReleaseIsAnnounced) {
  const auto first = granted(0);
  const auto second = waiting(1);
  release(first);
  release(second);
  for (int i = 0; i < 7; ++i) {
    const auto call = granted_after(100ms, 1);
    reset_counts();
    lock_.release(call);
    EXPECT_EQ(client(1).requests(Kind::announce_and_delete), 1U) << i;
  }
  const auto call = granted_after(100ms, 1);
  reset_counts();
  lock_.release(call);
  EXPECT_EQ(client(1).requests(Kind::remove), 1U);
  expect_rest();
}

// A heartbeat is sent behind the requests before it, so the watches are spread over several ticks.
TEST_F(PathLockCrowd, ManyWaiters_SpreadTheirOwnZnodeWatches) {
  constexpr std::size_t kMany = 600;
  constexpr std::size_t kAtATick = 500;
  constexpr auto kTick = 300ms;
  const auto holder = granted(0);
  std::vector<std::size_t> waiters;
  for (std::size_t i = 0; i < kMany; ++i) waiters.push_back(lock_.acquire(1));
  run();
  reset_counts();
  for (int i = 0; i < 6 && client(1).requests(Kind::get_and_watch) == 0; ++i) run_for(kTick);
  EXPECT_EQ(client(1).requests(Kind::get_and_watch), kAtATick);
  run_for(kTick);
  EXPECT_EQ(client(1).requests(Kind::get_and_watch), kMany);
  run_for(kTick);
  EXPECT_EQ(client(1).requests(Kind::get_and_watch), kMany) << "all are watched";
  for (const std::size_t waiter : waiters) lock_.cancel(waiter);
  release(holder);
  expect_rest();
}

}  // namespace

}  // namespace zklock::model
