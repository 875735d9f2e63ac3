// SPDX-License-Identifier: Apache-2.0
// Clients have no READ permission on the znodes of other clients: AclPolicy::creator_all(), and
// other credentials. Each test runs with both rules of the servers for exists.
#include <string>

#include <gtest/gtest.h>

#include "tests/model/same_name_fixture.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class UnreadableZnode : public SameNameTest, public ::testing::WithParamInterface<ExistsRule> {
 protected:
  static constexpr NodeAcl kUnreadable{.everyone = 0};

  void SetUp() override {
    SameNameTest::SetUp();
    ensemble().set_exists_rule(GetParam());
    ensemble().set_contenders_readable(false);
  }
  void set_other_rule() {
    const bool is_open = GetParam() == ExistsRule::needs_nothing;
    ensemble().set_exists_rule(is_open ? ExistsRule::needs_read : ExistsRule::needs_nothing);
  }
  Duration tick() { return lock_.core(0).keeper().timeout() / 20; }
};

INSTANTIATE_TEST_SUITE_P(BothRules, UnreadableZnode,
                         ::testing::Values(ExistsRule::needs_nothing, ExistsRule::needs_read),
                         [](const auto& each) {
                           return each.param == ExistsRule::needs_nothing ? "Open" : "NeedsRead";
                         });

// ---- the predecessor ---------------------------------------------------------------------------

// The rule changes when the servers are upgraded or downgraded one by one.
TEST_P(UnreadableZnode, WaiterReconnected_IsGrantedAfterTheDelete) {
  for (const bool rule_changes : {false, true}) {
    for (const bool deleted_meanwhile : {false, true}) {
      SCOPED_TRACE(std::to_string(rule_changes) + ", " + std::to_string(deleted_meanwhile));
      const auto first = granted(0);
      const auto second = waiting(1);
      lock_.world().disconnect(1);
      run();
      if (rule_changes) set_other_rule();
      if (deleted_meanwhile) {
        release(first);
        run_for(2s);
      }
      reconnect(1);
      run_for(3s);
      EXPECT_EQ(is_granted(second), deleted_meanwhile);
      if (!deleted_meanwhile) release(first);
      run_for(1s);
      EXPECT_TRUE(is_granted(second));
      release(second);
      ensemble().set_exists_rule(GetParam());
      expect_rest();
    }
  }
}

// ---- its own znode -----------------------------------------------------------------------------

TEST_P(UnreadableZnode, OfHolder_IsLostWhenItIsDeleted) {
  const auto held = granted(0);
  const std::string node = lock_.call(held).node;
  ASSERT_EQ(ensemble().set_acl(node, kUnreadable), Status::ok);
  run_for(5s);
  EXPECT_EQ(lock_.call(held).hold.state(), HoldState::held);
  ASSERT_EQ(ensemble().remove(node), Status::ok);
  run_for(1s);
  EXPECT_EQ(lock_.call(held).hold.state(), HoldState::lost);
  release(held);
  expect_rest();
}

TEST_P(UnreadableZnode, OfNextHolderInLaterPath_IsLossOfFirst) {
  const auto old = granted(0);
  const auto next = granted_in_later_path(1);
  ASSERT_EQ(lock_.call(next).node, lock_.call(old).node);
  lock_.world().run_for(tick());
  EXPECT_EQ(lock_.call(old).hold.state(), HoldState::lost);
  EXPECT_EQ(lock_.call(next).hold.state(), HoldState::held);
  release(old);
  release(next);
  expect_rest();
}

TEST_P(UnreadableZnode, AndStatOfPathLost_IsLossAfterReconnect) {
  const auto old = granted(0);
  const auto next = granted_in_later_path(1);
  ASSERT_EQ(lock_.call(next).node, lock_.call(old).node);
  lock_.world().lose_reply(0, Kind::count_children);
  lock_.world().run_for(tick());
  lock_.world().reconnect(0);
  lock_.world().run_for(2 * tick());
  EXPECT_EQ(lock_.call(old).hold.state(), HoldState::lost);
  EXPECT_EQ(lock_.call(next).hold.state(), HoldState::held);
  release(old);
  release(next);
  expect_rest();
}

TEST_P(UnreadableZnode, OfDowngradedReaderAndReplyLost_HoldIsKept) {
  const Owner owner = Owner::unique();
  const auto writes = granted(0, LockWorld::to_write(owner));
  const auto reads = granted(0, LockWorld::to_read(owner));
  lock_.world().lose_reply(0, Kind::transaction);
  lock_.release(writes);
  run();
  ASSERT_FALSE(client(0).is_connected());
  ASSERT_EQ(lock_.nodes().size(), 1U);
  ASSERT_EQ(ensemble().set_acl(child(lock_.nodes().front()), kUnreadable), Status::ok);
  reconnect(0);
  run_for(5s);
  EXPECT_EQ(lock_.call(reads).hold.state(), HoldState::held);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  const auto next = waiting(1, LockWorld::to_write());
  release(reads);
  run_for(1s);
  EXPECT_TRUE(is_granted(next));
  release(next);
  expect_rest();
}

// ---- the release request -----------------------------------------------------------------------

// The reply to its delete is lost, and another client creates the next one.
TEST_P(UnreadableZnode, OfNextReleaseRequest_IsNotDeleted) {
  const auto held = granted(0);
  const auto name = core::ZnodeName::parse(lock_.nodes().front());
  const std::string request = child(core::release_request_node(name->sequence));
  const SessionId deleter = lock_.core(1).keeper().session();
  ASSERT_EQ(ensemble().create(request, "", deleter), Status::ok);
  lock_.world().lose_reply(1, Kind::remove);
  lock_.delete_node(1, request);
  run();
  ASSERT_FALSE(client(1).is_connected());
  const SessionId next = lock_.core(2).keeper().session();
  ASSERT_EQ(ensemble().create(request, "", next, kUnreadable), Status::ok);
  reconnect(1);
  run_for(1s);
  EXPECT_EQ(ensemble().remove(request), Status::ok) << "not deleted before";
  release(held);
  expect_rest();
}

// A client deletes only its own delay markers in this way, and their names do not repeat.
TEST_P(UnreadableZnode, OfDelayMarkerAndRequestLost_IsDeleted) {
  const std::string marker = child(core::DelayMarker::make(1s, {5}, {0}).name);
  const auto held = granted(0);
  ASSERT_EQ(ensemble().create(marker, "", {}, kUnreadable), Status::ok);
  lock_.world().lose_request(1, Kind::remove);
  lock_.delete_node(1, marker);
  run();
  ASSERT_FALSE(client(1).is_connected());
  reconnect(1);
  run_for(1s);
  EXPECT_EQ(ensemble().remove(marker), Status::no_node);
  release(held);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
