// SPDX-License-Identifier: Apache-2.0
// Other programs delete znodes of the queue or the path, or create some with equal names.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/same_name_fixture.h"
#include "tests/model/test_candidate.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/pending_acquire.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class OwnNode : public PathLockTest {
 protected:
  Duration tick() { return lock_.core(0).keeper().timeout() / 20; }
};

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

// ---- a znode with a lower number than older znodes ---------------------------------------------

TEST_F(OwnNode, ForeignZnodeAhead_IsWaitedFor) {
  const auto holder = granted(0);
  const auto waiter = waiting(1);
  const std::string made = child("lock-0000000000");
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
  EXPECT_EQ(client(0).watch_removals(), 1U) << "for a release request; the znode's watch ends";
  EXPECT_EQ(client(1).requests(Kind::list_children), 0U);
}

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
    lock_.world().disconnect(0);
    run();
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
    release(other);
    run_for(30s);
    remove_path();
  }
}

// ---- a path that is deleted and recreated --------------------------------------------------------

class PathLockParent : public PathLockTest {
 protected:
  /// Recreates the path with znodes of other programs. No event is delivered before the next run().
  std::vector<std::string> replace_by_strangers(int count) {
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

TEST_F(PathLockParent, RefusedRelease_LeavesForeignZnode) {
  const auto held = granted(0);
  const auto strangers = replace_by_strangers(2);
  // A server replies so if only another client can write the znode.
  client(0).fail_next(Kind::announce_and_delete, Status::no_auth);
  reset_counts();
  lock_.release(held);
  run();
  EXPECT_EQ(client(0).requests(Kind::get), 1U);
  EXPECT_EQ(client(0).requests(Kind::remove), 0U);
  EXPECT_EQ(lock_.nodes().size(), 2U);
  for (const std::string& stranger : strangers) remove(stranger);
  expect_rest();
}

TEST_F(PathLockParent, RefusedRelease_DeletesOwnZnode) {
  const auto held = granted(0);
  client(0).fail_next(Kind::announce_and_delete, Status::no_auth);
  lock_.release(held);
  run();
  EXPECT_EQ(client(0).requests(Kind::get), 1U);
  EXPECT_EQ(client(0).requests(Kind::remove), 1U);
  expect_rest();
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
  run();
  EXPECT_TRUE(lock_.call(waits).granted());
  lock_.release(waits);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
