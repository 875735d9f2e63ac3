// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: deadlines, single attempts and cancelled
// calls.
#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

TEST_F(PathLockTest, SingleAttempt_LeavesNoZnode) {
  const auto first = granted(0);
  const auto attempt = lock_.acquire(1, {.timeout = 0s});
  run();
  expect_ended_with_nothing(attempt);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  EXPECT_EQ(client(1).requests(Kind::get_and_watch), 0U);
  lock_.release(first);
  expect_rest();
}

TEST_F(PathLockTest, CallThatJoinedSingleAttempt_WaitsOn) {
  const auto first = granted(0);
  const Owner owner = Owner::unique();
  const auto attempt = lock_.acquire(1, {.owner = owner, .timeout = 0s});
  const auto patient = lock_.acquire(1, {.owner = owner});
  run();
  EXPECT_EQ(lock_.call(attempt).outcomes, 1);
  EXPECT_EQ(lock_.call(patient).outcomes, 0);
  lock_.release(first);
  run();
  EXPECT_TRUE(lock_.call(patient).granted());
  lock_.release(patient);
  expect_rest();
}

TEST_F(PathLockTest, Deadline_EndsWaitAndDeletesZnode) {
  const auto first = granted(0);
  const auto second = waiting(1, {.timeout = 1s});
  const auto third = waiting(2);
  lock_.world().run_for(999ms);
  EXPECT_EQ(lock_.call(second).outcomes, 0);
  lock_.world().run_for(1ms);
  EXPECT_EQ(lock_.call(second).outcomes, 1);
  EXPECT_FALSE(lock_.call(second).granted());
  EXPECT_EQ(lock_.nodes().size(), 2U);
  EXPECT_EQ(lock_.call(third).outcomes, 0) << "a waiter that gave up passes nothing on";
  lock_.release(first);
  run();
  EXPECT_TRUE(lock_.call(third).granted());
  lock_.release(third);
  expect_rest();
}

TEST_F(PathLockTest, NoServerInTime_FailsNotConnected) {
  lock_.world().disconnect(0);
  run();
  const auto call = lock_.acquire(0, {.timeout = 2s});
  lock_.world().run_for(3s);
  EXPECT_EQ(error(call), Errc::not_connected);
  const auto attempt = lock_.acquire(0, {.timeout = 0s});
  lock_.world().run_for(20s);
  EXPECT_EQ(error(attempt), Errc::not_connected);
  lock_.world().reconnect(0);
  expect_rest();
}

TEST_F(PathLockTest, LongDeadline_OutlastsConnectionTimeout) {
  lock_.world().disconnect(0);
  run();
  const auto with_deadline = lock_.acquire(0, {.timeout = 2min});
  const auto without = lock_.acquire(0);
  const auto in_vain = lock_.acquire(0, {.timeout = 1min});
  run_for(client(0).options().connection_timeout + 1s);
  EXPECT_EQ(error(without), Errc::not_connected);
  EXPECT_EQ(lock_.call(with_deadline).outcomes, 0);
  run_for(50s);
  EXPECT_EQ(error(in_vain), Errc::not_connected) << "at its deadline";
  EXPECT_EQ(lock_.call(with_deadline).outcomes, 0);
  lock_.world().reconnect(0);
  run_for(client(0).options().session_timeout);
  ASSERT_TRUE(is_granted(with_deadline));
  lock_.release(with_deadline);
  expect_rest();
}

// Calls of one owner share a znode, and each has its own deadline.
TEST_F(PathLockTest, CallsOfOneOwner_EndAtTheirOwnDeadlines) {
  lock_.world().disconnect(0);
  run();
  const Owner owner = Owner::unique();
  const auto without = lock_.acquire(0, {.owner = owner});
  const auto with_deadline = lock_.acquire(0, {.owner = owner, .timeout = 2min});
  run_for(client(0).options().connection_timeout + 1s);
  EXPECT_EQ(error(without), Errc::not_connected);
  EXPECT_EQ(lock_.call(with_deadline).outcomes, 0);
  lock_.world().reconnect(0);
  run_for(client(0).options().session_timeout);
  ASSERT_TRUE(is_granted(with_deadline));
  lock_.release(with_deadline);
  expect_rest();
}

// Contenders of one client can share a znode, and each has its own deadline.
TEST_F(PathLockTest, ContendersOfOneZnode_EndAtTheirOwnDeadlines) {
  lock_.world().disconnect(0);
  run();
  const core::CohortPolicy shared{.batch = 8};
  const auto first = lock_.acquire(0, {.local = shared});
  const auto with_deadline = lock_.acquire(0, {.timeout = 2min, .local = shared});
  const auto last = lock_.acquire(0, {.local = shared});
  run_for(client(0).options().connection_timeout + 1s);
  EXPECT_EQ(error(first), Errc::not_connected);
  EXPECT_EQ(error(last), Errc::not_connected);
  EXPECT_EQ(lock_.call(with_deadline).outcomes, 0);
  lock_.world().reconnect(0);
  run_for(client(0).options().session_timeout);
  ASSERT_TRUE(is_granted(with_deadline));
  lock_.release(with_deadline);
  expect_rest();
}

TEST_F(PathLockTest, CallMovedToOtherContender_CanBeCancelled) {
  const auto first = granted(0);
  const Owner owner = Owner::unique();
  lock_.acquire(1, {.owner = owner, .timeout = 0s});
  const auto patient = lock_.acquire(1, {.owner = owner});
  run();
  lock_.cancel(patient);
  run();
  EXPECT_EQ(lock_.call(patient).outcomes, 1);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  lock_.release(first);
  expect_rest();
}

TEST_F(PathLockTest, CallThatJoinedSingleAttempt_RetainsDeadline) {
  lock_.world().disconnect(0);
  run();
  const Owner owner = Owner::unique();
  lock_.acquire(0, {.owner = owner, .timeout = 0s});
  const auto timed = lock_.acquire(0, {.owner = owner, .timeout = 100ms});
  lock_.world().run_for(100ms);
  EXPECT_EQ(lock_.call(timed).outcomes, 1);
  lock_.world().run_for(20s);
  lock_.world().reconnect(0);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
