// SPDX-License-Identifier: Apache-2.0
// ZooKeeper deletes an unused lock path, and the sequence numbers restart in the next path of that
// name. An action on a znode must not affect another znode that has got its name.
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/same_name_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class SameName : public SameNameTest {
 protected:
  /// Client 0 moves to the queue, but the reply is lost. The path is deleted and recreated. Client
  /// 1 gets the znode at the gate with the old name, behind the holder at client 2.
  void set_up_lost_move() {
    moving_ = lock_.acquire(0, LockWorld::at_gate(5));
    run_only(0, [&] { return lock_.nodes().size() == 1; });
    const std::string name = lock_.nodes().at(0);
    lock_.world().lose_reply(0, Kind::transaction);
    run();
    ASSERT_FALSE(client(0).is_connected());
    ASSERT_EQ(lock_.nodes(), std::vector<std::string>{"lock-0000000001"});
    replace_at_gate(name);
  }
  /// Recreates the path. Client 1 gets a znode `name` there, and waits for client 2.
  void replace_at_gate(const std::string& name) {
    remove_path();
    at_gate_ = lock_.acquire(1, LockWorld::at_gate(5));
    run_only(1, [&] { return lock_.nodes().size() == 1; });
    ASSERT_EQ(lock_.nodes().at(0), name);
    holder_ = lock_.acquire(2);
    run_only(2);
    run();
    ASSERT_EQ(ensemble().find(child(name))->owner, client(1).session());
    reset_counts();
  }
  void expect_spared() {
    run();
    EXPECT_EQ(lock_.call(moving_).outcomes, 1);
    EXPECT_EQ(lock_.nodes().size(), 2U);
    release(holder_);
    EXPECT_TRUE(lock_.call(at_gate_).granted());
    release(at_gate_);
    expect_rest();
  }
  std::size_t moving_ = 0;
  std::size_t at_gate_ = 0;
  std::size_t holder_ = 0;
};

// ---- deletes in the background -----------------------------------------------------------------

TEST_F(SameName, RepeatedDeleteOfPermit_SparesOtherZnode) {
  const auto old = granted(0, LockWorld::permits(1, 1));
  const std::string name = lock_.nodes().at(0);
  lock_.world().lose_reply(0, Kind::remove);
  release(old);
  ASSERT_TRUE(lock_.nodes().empty());
  ASSERT_FALSE(client(0).is_connected());
  remove_path();
  const auto next = granted(1, LockWorld::permits(1, 1));
  ASSERT_EQ(lock_.nodes().at(0), name);
  const auto third = waiting(2, LockWorld::permits(1, 1));
  reconnect(0);
  EXPECT_EQ(lock_.nodes().size(), 2U);
  EXPECT_FALSE(lock_.call(third).granted());
  release(next);
  EXPECT_TRUE(lock_.call(third).granted());
  release(third);
  expect_rest();
}

// The connection breaks while the delete is in flight. The next server lags, so without a quorum
// operation the client still sees the znode.
TEST_F(SameName, RepeatedDelete_DoesNotTrustLaggingServer) {
  const auto old = granted(0, LockWorld::permits(1, 1));
  release_node(old);
  client(0).disconnect(OnTheWay::linger);
  client(0).lag();
  client(0).arrive_late();
  ASSERT_TRUE(lock_.nodes().empty());
  remove_path();
  const auto next = granted(1, LockWorld::permits(1, 1));
  reconnect(0);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  release(next);
  expect_rest();
}

// A watch that is set again fires for any znode of that name that was written since.
TEST_F(SameName, WatchSetAgain_DoesNotGrantForOtherZnode) {
  const auto old = granted(1);
  const auto waiter = waiting(0);
  lock_.world().disconnect(0);
  release(old);
  remove_path();
  const auto next = granted(2);
  ASSERT_EQ(lock_.call(next).node, lock_.call(old).node);
  reconnect(0);
  EXPECT_FALSE(lock_.call(waiter).granted());
  release(next);
  EXPECT_TRUE(lock_.call(waiter).granted());
  release(waiter);
  expect_rest();
}

// The lease has expired although the connection exists. The znode can have been deleted long ago.
TEST_F(SameName, LeaseExpiredDuringPause_SparesOtherZnode) {
  const auto old = granted(0);
  run_for(1s);
  client(0).pause();
  remove_path();
  const auto next = granted(1);
  lock_.world().run_for(4200ms);  // beyond the lease, within the session
  client(0).resume();
  release_node(old);  // before the client processes any event
  run();
  ASSERT_TRUE(ensemble().is_alive(client(0).session()));
  EXPECT_EQ(lock_.call(next).hold.state(), HoldState::held);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  release(next);
  expect_rest();
}

// The waiter is cancelled after the reconnect, before the list that follows it is answered.
TEST_F(SameName, CancelledAfterReconnect_SparesOtherZnode) {
  const auto holder = granted(1);
  const auto waiter = waiting(0);
  lock_.world().disconnect(0);
  release(holder);
  remove_path();
  const auto first = granted(2);
  const auto second = waiting(1);
  ASSERT_EQ(lock_.nodes().size(), 2U);
  lock_.world().reconnect(0);
  run_only(0, [&] { return client(0).is_connected(); });
  lock_.cancel(waiter);
  run();
  EXPECT_EQ(lock_.nodes().size(), 2U);
  release(first);
  release(second);
  expect_rest();
}

// Without READ permission, the client compares the czxid only.
TEST_F(SameName, ReleasedAfterReconnect_SparesOtherZnode) {
  const auto permits = LockWorld::permits(1, 2);
  for (const bool is_readable : {true, false}) {
    for (const bool is_recreated : {true, false}) {
      const auto old = granted(0, permits);
      lock_.world().disconnect(0);
      run();
      if (is_recreated) remove_path();
      const auto next = granted(1, permits);
      lock_.world().reconnect(0);
      run_only(0, [&] { return client(0).is_connected(); });
      for (int i = 0; i < 3 && !is_readable; ++i) {  // the first is the check of a heartbeat
        lock_.world().fail_next(0, Kind::check, Status::no_auth);
      }
      lock_.release(old);
      run();
      EXPECT_EQ(lock_.nodes().size(), 1U);
      EXPECT_EQ(lock_.call(next).hold.state(), HoldState::held);
      release(next);
      EXPECT_TRUE(lock_.nodes().empty());
      client(0).clear_faults();
      expect_rest();
      remove_path();
    }
  }
}

// The move had deleted the znode at the gate. So the path may have been recreated since.
TEST_F(SameName, CancelledBeforeSearch_SparesOtherZnodeAtGate) {
  set_up_lost_move();
  lock_.cancel(moving_);
  reconnect(0);
  expect_spared();
}

// The search has not found the moved znode, and the list that follows it is not answered yet.
TEST_F(SameName, CancelledAfterSearch_SparesOtherZnodeAtGate) {
  set_up_lost_move();
  lock_.world().reconnect(0);
  run_only(0, [&] { return client(0).requests(Kind::list_children) == 2; });
  lock_.cancel(moving_);
  expect_spared();
}

// The server has refused the move. After the pause, the contender lists anew.
TEST_F(SameName, MoveThrottled_SparesOtherZnodeAtGate) {
  for (const bool is_cut_off : {false, true}) {
    lock_.world().fail_next(0, Kind::transaction, Status::throttled);
    moving_ = lock_.acquire(0, LockWorld::at_gate(5));
    run_only(0);
    ASSERT_EQ(lock_.nodes().size(), 1U);
    if (is_cut_off) {
      lock_.world().disconnect(0);
      run_for(1s);  // the move would be due again
    }
    replace_at_gate(lock_.nodes().at(0));
    const auto token = ensemble().find(child(lock_.nodes().at(0)))->czxid;
    if (is_cut_off) reconnect(0);
    run_for(1s);
    const auto* const other = ensemble().find(child(lock_.nodes().at(0)));
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->czxid, token) << "it was deleted";
    for (const auto next : {holder_, at_gate_, moving_}) {
      EXPECT_TRUE(lock_.call(next).granted());
      release(next);
    }
    expect_rest();
    remove_path();
  }
}

// ---- two contenders of one client --------------------------------------------------------------

// The release arrives after the create of the new znode, and before the client learns of that.
TEST_F(SameName, ReleaseInFlightHitsNewZnode_NextIsGranted) {
  const auto old = granted(0);
  remove_path();
  ensemble().create_container(LockWorld::kPath);
  const auto next = lock_.acquire(0);
  release_node(old);
  run();
  EXPECT_TRUE(lock_.call(next).granted());
  const auto behind = waiting(1);
  release(next);
  EXPECT_TRUE(lock_.call(behind).granted());
  release(behind);
  expect_rest();
}

// ---- replies from a recreated path -------------------------------------------------------------

// The reply to the transaction has only the name of the new znode. Its stat is read afterwards.
TEST_F(SameName, PassedGate_DoesNotAdoptForeignZnode) {
  const auto passing = lock_.acquire(0, LockWorld::at_gate(5));
  run_only(0, [&] { return client(0).requests(Kind::transaction) == 1; });
  reset_counts();
  run_only(0, [&] { return client(0).requests(Kind::count_children) == 1; });
  ASSERT_EQ(lock_.nodes().size(), 1U);
  const std::string name = lock_.nodes().at(0);
  remove_path();
  const auto holder = lock_.acquire(1);
  run_only(1);
  const auto next = lock_.acquire(2);
  run_only(2);
  ASSERT_EQ(lock_.path_lock(2)->nodes().at(0), name);
  run();
  EXPECT_NE(lock_.path_lock(0)->nodes().at(0), name);
  release(holder);
  EXPECT_TRUE(lock_.call(next).granted());
  EXPECT_FALSE(lock_.call(passing).granted());
  release(next);
  EXPECT_TRUE(lock_.call(passing).granted());
  release(passing);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
