// SPDX-License-Identifier: Apache-2.0
// The lock path is deleted and recreated. Two znodes of one client then have the same name: one of
// the old path, and one of the new path.

#include <gtest/gtest.h>

#include "tests/model/same_name_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

/// Releases are not announced: see DowngradeSameName.
class SameNameOneClient : public SameNameTest {
 protected:
  SameNameOneClient() : SameNameTest(false) {}
};

TEST_F(SameNameOneClient, IdleZnode_IsNotFoundInListOfLaterPath) {
  const LockWorld::Request kept{.local = {.batch = 1, .keep_idle_for = 5s}};
  lock_.use(0);
  const auto old = granted(0, kept);
  release_node(old);
  remove_path();
  const auto other = lock_.acquire(1);
  run_only(1);
  ASSERT_EQ(lock_.call(other).node, lock_.call(old).node);
  run();
  const auto again = waiting(0, kept);
  release(other);
  EXPECT_TRUE(lock_.call(again).granted());
  release(again);
  lock_.end_use(0);
  run();
  expect_rest();
}

// The reply to another create shows that the path was recreated: then its contender sends a check.
// The list of the idle cohort, which would also show it, has no reply yet.
TEST_F(SameNameOneClient, IdleZnodeOfEarlierPath_IsNotHandedOff) {
  const LockWorld::Request kept{.local = {.batch = 3, .keep_idle_for = 5s}};
  lock_.use(0);
  const auto old = granted(0, kept);
  release(old);
  remove_path();
  ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
  reset_counts();
  const auto other = lock_.acquire(0);
  ASSERT_TRUE(lock_.world().run_until([&] { return client(0).requests(Kind::check) > 0; }, 1s));
  const auto next = lock_.acquire(0, kept);
  EXPECT_FALSE(is_granted(next));
  EXPECT_EQ(lock_.violation(), "");
  run();
  EXPECT_FALSE(is_granted(next));
  release(other);
  EXPECT_TRUE(is_granted(next));
  release(next);
  lock_.end_use(0);
  run();
  expect_rest();
}

// No watch event shows it: the contender's znode is not watched yet.
TEST_F(SameNameOneClient, NextZnodeIsOfLaterPath_NewestHoldIsLost) {
  const auto old = granted(0);
  remove_path();
  const auto next = lock_.acquire(0);
  run();
  EXPECT_TRUE(lock_.call(next).granted());
  EXPECT_EQ(lock_.call(old).hold.state(), HoldState::lost);
  EXPECT_EQ(lock_.losses_notified(old), 1U);
  lock_.release(old);
  release(next);
  expect_rest();
}

// Client 0 releases a lock while it is disconnected. In the recreated path, its next znode has the
// name of the old one, and it cannot read that znode.
TEST_F(SameNameOneClient, UnreadableZnodeOfNext_IsSpared) {
  for (const auto& request : {LockWorld::Request{}, LockWorld::permits(1, 2)}) {
    const auto old = granted(0, request);
    lock_.world().disconnect(0);
    lock_.release(old);
    lock_.path_lock(0)->check_clocks();
    run();
    remove_path();
    ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
    const auto next = lock_.acquire(0, request);
    for (int i = 0; i < 2; ++i) client(0).fail_next(Kind::check, Status::no_auth);
    reconnect(0);
    ASSERT_TRUE(lock_.call(next).granted());
    EXPECT_EQ(lock_.nodes().size(), 1U) << "deleted: the znode of the hold of this client";
    EXPECT_EQ(lock_.call(next).hold.state(), HoldState::held);
    client(0).clear_faults();
    release(next);
    expect_rest();
    remove_path();
  }
}

// The delete of an old znode deletes the second new one. Both creates were in flight before the
// first reply showed that the path was recreated.
TEST_F(SameNameOneClient, DeleteUnderWay_SecondNewZnodeIsSearched) {
  const auto a = granted(0, LockWorld::shared_permits(1, 2));
  const auto b = granted(0, LockWorld::shared_permits(1, 2));
  ASSERT_EQ(lock_.nodes().size(), 2U);
  ASSERT_EQ(ensemble().remove(LockWorld::count_path()), Status::ok);
  remove_path();
  ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
  ASSERT_EQ(ensemble().create(LockWorld::count_path(), "2"), Status::ok);
  // As in the path before: the count is the first child.
  const auto c = lock_.acquire(0, LockWorld::shared_permits(1, 2));
  const auto d = lock_.acquire(0, LockWorld::shared_permits(1, 2));
  release_node(b);  // its znode has the number of the second new one
  lock_.world().run_all();
  ASSERT_TRUE(lock_.call(c).granted() && lock_.call(d).granted());
  EXPECT_EQ(lock_.nodes().size(), 2U) << "a hold has no znode";
  EXPECT_EQ(lock_.call(a).hold.state(), HoldState::lost);
  const auto third = lock_.acquire(1, LockWorld::shared_permits(1, 2));
  lock_.world().run_all();
  EXPECT_FALSE(lock_.call(third).granted());
  EXPECT_EQ(lock_.violation(), "");
}

}  // namespace
}  // namespace zklock::model
