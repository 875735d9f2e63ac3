// SPDX-License-Identifier: Apache-2.0
// Another program deletes a znode of the queue, or creates one.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/test_candidate.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class OwnNode : public PathLockTest {
 protected:
  Duration tick() { return lock_.core(0).keeper().timeout() / 20; }
};

TEST_F(OwnNode, HeldForOneTick_IsWatched) {
  const auto old = granted(0);
  lock_.world().run_for(tick());
  EXPECT_EQ(client(0).requests(Kind::get_and_watch), 1U);
  const auto next = waiting(1);
  ASSERT_EQ(ensemble().remove(lock_.call(old).node), Status::ok);
  run();
  EXPECT_EQ(lock_.call(old).hold.state(), HoldState::lost);
  EXPECT_TRUE(lock_.call(next).granted());
  release(old);
  release(next);
  expect_rest();
}

TEST_F(OwnNode, DeletedBeforeFirstTick_LossFoundAtTick) {
  const auto old = granted(0);
  const auto next = waiting(1);
  ASSERT_EQ(ensemble().remove(lock_.call(old).node), Status::ok);
  lock_.world().run_all();
  ASSERT_TRUE(lock_.call(next).granted());
  EXPECT_LT(lock_.call(old).token, lock_.call(next).token) << "which separates them meanwhile";
  run_for(tick());
  EXPECT_EQ(lock_.call(old).hold.state(), HoldState::lost);
  release(old);
  release(next);
  expect_rest();
}

TEST_F(OwnNode, LeaderGranted_IsWatchedAtOnce) {
  const auto leader = std::make_shared<TestCandidate>(lock_.core(0));
  leader->contend();
  run();
  ASSERT_TRUE(leader->leads());
  EXPECT_EQ(client(0).requests(Kind::get_and_watch), 1U);
  const std::string node = leader->leadership_state()->node();
  const auto next = waiting(1);
  ASSERT_EQ(ensemble().remove(node), Status::ok);
  run();
  EXPECT_FALSE(leader->leads());
  EXPECT_TRUE(lock_.call(next).granted());
  leader->close();
  release(next);
  expect_rest();
}

// ---- a znode with a lower number than older znodes ---------------------------------------------

TEST_F(OwnNode, ForeignZnodeAhead_IsWaitedFor) {
  const auto holder = granted(0);
  const auto waiter = waiting(1);
  const std::string made = LockWorld::kPath + std::string("/lock-0000000000");
  ASSERT_EQ(ensemble().create(made), Status::ok);
  reset_counts();
  lock_.world().expire(0);
  ASSERT_NO_THROW(lock_.world().run_all(10'000)) << "the query is repeated";
  EXPECT_EQ(client(1).requests(Kind::list_children), 2U);
  EXPECT_EQ(lock_.call(waiter).outcomes, 0);
  ASSERT_EQ(ensemble().set_data(made, "released"), Status::ok);
  ASSERT_NO_THROW(lock_.world().run_all(10'000));
  EXPECT_EQ(lock_.call(waiter).outcomes, 0);
  ASSERT_EQ(ensemble().remove(made), Status::ok);
  run();
  EXPECT_TRUE(lock_.call(waiter).granted());
  release(holder);
  release(waiter);
  expect_rest();
}

// Its watch has shown the znode on the new connection.
TEST_F(OwnNode, ReleaseAfterReconnect_IsAnnounced) {
  const auto old = granted(0);
  lock_.world().disconnect(0);
  run();
  lock_.world().reconnect(0);
  run_for(3s);
  const auto next = waiting(1);
  reset_counts();
  release(old);
  EXPECT_TRUE(lock_.call(next).granted());
  EXPECT_EQ(client(0).requests(Kind::check), 0U);
  EXPECT_EQ(client(1).requests(Kind::list_children), 0U);
}

}  // namespace
}  // namespace zklock::model
