// SPDX-License-Identifier: Apache-2.0
// A client's look at its own znode, also if it may not read it.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/lock_delay.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/contender.h"

namespace zklock::model {
namespace {

/// Releases are not announced: the servers would refuse the announcement on another's znode.
class OwnNodeWithoutAnnouncement : public SameNameTest {
 protected:
  OwnNodeWithoutAnnouncement() : SameNameTest(false) {}
};

// The watch is requested without a connection, as a leadership does. So it is sent before any
// quorum operation. The new server lags behind, and still shows the znode.
TEST_F(OwnNodeWithoutAnnouncement, StaleReadAfterReconnect_OtherZnodeIsSpared) {
  for (int replies = 0; replies < 8; ++replies) {
    std::shared_ptr<detail::Contender> old;
    acquire_path(lock_.path_lock(0), [&](const auto& outcome) { old = outcome.contender; });
    run();
    ASSERT_TRUE(old);
    Hold hold = old->make_hold(core::CountKind::hold);
    const auto nodes = lock_.nodes();
    client(0).lag();
    disconnect(0);
    const auto other = granted_in_later_path(1);
    ASSERT_EQ(lock_.nodes(), nodes);
    old->watch_node();
    lock_.world().reconnect(0);
    run_only(0, [&] { return client(0).is_connected(); });
    run_only(0, [steps = replies]() mutable { return --steps < 0; });
    hold.release();
    lock_.world().run_all();
    EXPECT_EQ(lock_.nodes(), nodes) << replies;
    EXPECT_EQ(lock_.call(other).hold.state(), HoldState::held) << replies;
    finish();
    run_for(30s);
    remove_path();
  }
}

class PathLockParent : public PathLockTest {
 protected:
  /// Recreates the path with znodes of other programs. No event is delivered before the next run().
  std::vector<std::string> replace_by_strangers(int count) {
    if (count == 0) return {};
    for (const std::string& node : lock_.nodes()) remove(node);
    EXPECT_EQ(ensemble().remove(LockWorld::kPath), Status::ok);
    ensemble().create_container(LockWorld::kPath);
    std::vector<std::string> strangers;
    for (int i = 0; i < count; ++i) {
      strangers.push_back(*ensemble().create_sequential(LockWorld::kPath, "lock-"));
    }
    return strangers;
  }
  bool has_lease(std::size_t c) {
    const detail::EngineLock lock({lock_.core(c)});
    return lock_.core(c).keeper().lease_for_grant(client(c).session()) != nullptr;
  }
  void remove(const std::string& node) {
    EXPECT_EQ(ensemble().remove(std::string(LockWorld::kPath) + "/" + node), Status::ok);
  }
};

// A server replies so if only another client can write the znode.
TEST_F(PathLockParent, RefusedRelease_DeletesOwnZnodeOnly) {
  for (const int strangers : {2, 0}) {
    const auto held = granted(0);
    const auto foreign = replace_by_strangers(strangers);
    client(0).fail_next(Kind::announce_and_delete, Status::no_auth);
    reset_counts();
    release(held);
    EXPECT_EQ(client(0).requests(Kind::get), 1U);
    EXPECT_EQ(client(0).requests(Kind::remove), strangers > 0 ? 0U : 1U);
    EXPECT_EQ(lock_.nodes().size(), foreign.size());
    for (const std::string& stranger : foreign) remove(stranger);
  }
}

// The znode is replaced after the list that shows it first, and before the check, which knows only
// its name.
TEST_F(PathLockParent, ZnodeReplacedBeforeCheck_IsNotGranted) {
  const auto held = granted(0);
  const auto waits = waiting(1);
  client(1).isolate();
  ASSERT_TRUE(lock_.world().run_until([&] { return !has_lease(1); }, 6s));
  client(1).heal();
  lock_.release(held);
  reset_counts();
  for (int i = 0; i < 1'000 && client(1).requests(Kind::get) == 0; ++i) {
    lock_.world().run(lock_.world().steps().front());
  }
  ASSERT_EQ(client(1).requests(Kind::get), 1U);
  const auto strangers = replace_by_strangers(3);
  lock_.world().run_for(500ms);
  EXPECT_FALSE(lock_.call(waits).granted());
  for (const std::string& stranger : strangers) remove(stranger);
}

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

// The rule changes when the servers are upgraded or downgraded one by one.
TEST_P(UnreadableZnode, WaiterReconnected_IsGrantedAfterTheDelete) {
  for (const bool rule_changes : {false, true}) {
    for (const bool deleted_meanwhile : {false, true}) {
      SCOPED_TRACE(std::to_string(rule_changes) + ", " + std::to_string(deleted_meanwhile));
      const auto first = granted(0);
      const auto second = waiting(1);
      disconnect(1);
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

TEST_P(UnreadableZnode, OfHolder_IsLostWhenItIsDeleted) {
  const auto held = granted(0);
  const std::string node = lock_.call(held).node;
  ASSERT_EQ(ensemble().set_acl(node, kUnreadable), Status::ok);
  run_for(5s);
  EXPECT_EQ(lock_.call(held).hold.state(), HoldState::held);
  ASSERT_EQ(ensemble().remove(node), Status::ok);
  run_for(1s);
  EXPECT_EQ(lock_.call(held).hold.state(), HoldState::lost);
}

TEST_P(UnreadableZnode, OfNextHolderInLaterPath_IsLossOfFirst) {
  for (const bool stat_is_lost : {false, true}) {
    const auto old = granted(0);
    const auto next = granted_in_later_path(1);
    ASSERT_EQ(lock_.call(next).node, lock_.call(old).node);
    if (stat_is_lost) lock_.world().lose_reply(0, Kind::count_children);
    lock_.world().run_for(tick());
    lock_.world().reconnect(0);
    lock_.world().run_for(2 * tick());
    EXPECT_EQ(lock_.call(old).hold.state(), HoldState::lost);
    EXPECT_EQ(lock_.call(next).hold.state(), HoldState::held);
    finish();
    remove_path();
  }
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
}

// The reply to its delete is lost, and another client creates the next one.
TEST_P(UnreadableZnode, OfNextReleaseRequest_IsNotDeleted) {
  granted(0);
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
}

// A client deletes only its own delay markers in this way, and their names do not repeat.
TEST_P(UnreadableZnode, OfDelayMarkerAndRequestLost_IsDeleted) {
  const std::string marker = child(core::DelayMarker::make(1s, {5}, {0}).name);
  granted(0);
  ASSERT_EQ(ensemble().create(marker, "", {}, kUnreadable), Status::ok);
  lock_.world().lose_request(1, Kind::remove);
  lock_.delete_node(1, marker);
  run();
  ASSERT_FALSE(client(1).is_connected());
  reconnect(1);
  run_for(1s);
  EXPECT_EQ(ensemble().remove(marker), Status::no_node);
}

}  // namespace
}  // namespace zklock::model
