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

class PathLockCrowd : public PathLockTest {
 protected:
  void SetUp() override {
    PathLockTest::SetUp();
    path_lock_ = lock_.path_lock(1);
  }

  /// Client 1 waits once, and releases the lock.
  void wait_once() {
    const auto first = granted(0);
    const auto second = waiting(1);
    release(first);
    release(second);
  }
  /// Expects that client 1 releases a hold, shorter than its acquire, by this request.
  void expect_released_by(Kind kind) {
    const auto call = granted_after(100ms, 1);
    reset_counts();
    release(call);
    EXPECT_EQ(client(1).requests(kind), 1U);
  }
  std::shared_ptr<detail::PathLock> path_lock_;  ///< kept, as a mutex object does
};

TEST_F(PathLockCrowd, FourWaits_NextSendNoCountUntilQueueIsEmpty) {
  for (int i = 0; i < 4; ++i) wait_once();
  reset_counts();
  wait_once();
  EXPECT_EQ(client(1).requests(Kind::create_contender), 1U);
  EXPECT_EQ(client(1).requests(Kind::get_and_watch), 1U);
  EXPECT_EQ(client(1).requests(Kind::count_children) + client(1).requests(Kind::list_children), 0U);
  release(granted(1));
  EXPECT_EQ(client(1).requests(Kind::count_children), 0U);
  EXPECT_EQ(client(1).requests(Kind::list_children), 1U) << "there was no contender to watch";
  release(granted(1));
  EXPECT_EQ(client(1).requests(Kind::count_children), 1U);
}

TEST_F(PathLockCrowd, NotAnnounced_WaiterListsAndIsGranted) {
  const auto call = granted_after(100ms, 1);
  waiting(0);
  reset_counts();
  release(call);
  EXPECT_EQ(client(1).requests(Kind::remove), 1U);
  EXPECT_EQ(client(0).requests(Kind::list_children), 1U);
}

TEST_F(PathLockCrowd, LongHold_ReleaseIsAnnounced) {
  const auto call = granted_after(100ms, 1);
  run_for(100ms);
  reset_counts();
  lock_.release(call);
  EXPECT_EQ(client(1).requests(Kind::announce_and_delete), 1U);
}

TEST_F(PathLockCrowd, OneOfEightGrantsWaited_ReleaseIsAnnounced) {
  wait_once();
  for (int i = 0; i < 7; ++i) expect_released_by(Kind::announce_and_delete);
  expect_released_by(Kind::remove);
}

// A heartbeat is sent behind the requests before it, so the watches are spread over several ticks.
TEST_F(PathLockCrowd, ManyWaiters_SpreadTheirOwnZnodeWatches) {
  constexpr std::size_t kMany = 600;
  constexpr std::size_t kAtATick = 500;
  constexpr auto kTick = 300ms;
  granted(0);
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
}

}  // namespace
}  // namespace zklock::model
