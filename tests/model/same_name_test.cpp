// SPDX-License-Identifier: Apache-2.0
// A path is deleted and recreated, so that znodes of the new path have names of the old one.
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/faults.h"
#include "tests/model/path_lock_fixture.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/contender.h"

namespace zklock::model {
namespace {

using SameName = SameNameTest;

TEST_F(SameName, RepeatedDeleteOfPermit_SparesOtherZnode) {
  const auto old = granted(0, LockWorld::permits(1, 1));
  const std::string name = lock_.nodes().at(0);
  lock_.world().lose_reply(0, Kind::remove);
  release(old);
  ASSERT_TRUE(lock_.nodes().empty());
  ASSERT_FALSE(client(0).is_connected());
  remove_path();
  granted(1, LockWorld::permits(1, 1));
  ASSERT_EQ(lock_.nodes().at(0), name);
  const auto third = waiting(2, LockWorld::permits(1, 1));
  reconnect(0);
  EXPECT_EQ(lock_.nodes().size(), 2U);
  EXPECT_FALSE(lock_.call(third).granted());
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
  granted(1, LockWorld::permits(1, 1));
  reconnect(0);
  EXPECT_EQ(lock_.nodes().size(), 1U);
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
}

// The waiter is cancelled after the reconnect, before the list that follows it is answered.
TEST_F(SameName, CancelledAfterReconnect_SparesOtherZnode) {
  const auto holder = granted(1);
  const auto waiter = waiting(0);
  lock_.world().disconnect(0);
  release(holder);
  remove_path();
  granted(2);
  waiting(1);
  lock_.world().reconnect(0);
  run_only(0, [&] { return client(0).is_connected(); });
  lock_.cancel(waiter);
  run();
  EXPECT_EQ(lock_.nodes().size(), 2U);
}

// Without READ permission, the client compares the czxid only.
TEST_F(SameName, ReleasedAfterReconnect_SparesOtherZnode) {
  const auto permits = LockWorld::permits(1, 2);
  for (const bool is_readable : {true, false}) {
    for (const bool is_recreated : {true, false}) {
      const auto old = granted(0, permits);
      disconnect(0);
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
      client(0).clear_faults();
      finish();
      remove_path();
    }
  }
}

// The release arrives after the create of the new znode, and before the client learns of that.
TEST_F(SameName, ReleaseInFlightHitsNewZnode_NextIsGranted) {
  const auto old = granted(0);
  remove_path();
  ensemble().create_container(LockWorld::kPath);
  const auto next = lock_.acquire(0);
  release_node(old);
  run();
  EXPECT_TRUE(lock_.call(next).granted());
  waiting(1);
}

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
}

// The reply to the move is lost, so the client does not know which of its znodes exists. The call is
// cancelled before the search for the new one, or after it.
TEST_F(SameName, CancelledDuringMove_OnlyItsZnodeIsDeleted) {
  for (const bool is_recreated : {true, false}) {
    for (const bool is_executed : {true, false}) {
      for (const std::size_t lists : {0U, 2U}) {
        SCOPED_TRACE(std::to_string(is_recreated) + std::to_string(is_executed) +
                     std::to_string(lists));
        const auto moving = lock_.acquire(0, LockWorld::at_gate(5));
        run_only(0, [&] { return lock_.nodes().size() == 1; });
        const std::string at_gate = lock_.nodes().at(0);
        is_executed ? lock_.world().lose_reply(0, Kind::transaction)
                    : lock_.world().lose_request(0, Kind::transaction);
        run();
        ASSERT_FALSE(client(0).is_connected());
        if (is_recreated) {
          remove_path();
          lock_.acquire(1, LockWorld::at_gate(5));
          run_only(1, [&] { return lock_.nodes().size() == 1; });
          ASSERT_EQ(lock_.nodes().at(0), at_gate);
          lock_.acquire(2);
          run_only(2);
          run();
        }
        reset_counts();
        lock_.world().reconnect(0);
        run_only(0, [&] { return client(0).requests(Kind::list_children) == lists; });
        lock_.cancel(moving);
        EXPECT_TRUE(lock_.has_work(0)) << "flush() waits for it";
        run();
        expect_ended_with_nothing(moving);
        EXPECT_EQ(lock_.nodes().size(), is_recreated ? 2U : 0U);
        finish();
        remove_path();
      }
    }
  }
}

/// Releases are not announced: the servers would refuse the announcement on another's znode.
class SameNameOneClient : public SameNameTest {
 protected:
  SameNameOneClient() : SameNameTest(false) {}
};

TEST_F(SameNameOneClient, IdleZnode_IsNotFoundInListOfLaterPath) {
  const Request kept{.local = {.batch = 1, .keep_idle_for = 5s}};
  lock_.use(0);
  const auto old = granted(0, kept);
  release_node(old);
  remove_path();
  const auto other = lock_.acquire(1);
  run_only(1);
  ASSERT_EQ(lock_.call(other).node, lock_.call(old).node);
  run();
  waiting(0, kept);
}

// The reply to another create shows that the path was recreated: then its contender sends a check.
// The list of the idle cohort, which would also show it, has no reply yet.
TEST_F(SameNameOneClient, IdleZnodeOfEarlierPath_IsNotHandedOff) {
  const Request kept{.local = {.batch = 3, .keep_idle_for = 5s}};
  lock_.use(0);
  const auto old = granted(0, kept);
  release(old);
  remove_path();
  ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
  reset_counts();
  lock_.acquire(0);
  ASSERT_TRUE(lock_.world().run_until([&] { return client(0).requests(Kind::check) > 0; }, 1s));
  const auto next = lock_.acquire(0, kept);
  EXPECT_FALSE(is_granted(next));
  EXPECT_EQ(lock_.violation(), "");
  run();
  EXPECT_FALSE(is_granted(next));
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
}

// Client 0 releases a lock while it is disconnected. In the recreated path, its next znode has the
// name of the old one, and it cannot read that znode.
TEST_F(SameNameOneClient, UnreadableZnodeOfNext_IsSpared) {
  for (const auto& request : {Request{}, LockWorld::permits(1, 2)}) {
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
    finish();
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

class DowngradeSameName : public SameNameOneClient {
 protected:
  /// After each, client 0 is disconnected.
  const std::vector<NamedFault> kAllFaults = {
      {"executed", [](World& w) { w.lose_reply(0, Kind::transaction); }},
      {"not executed", [](World& w) { w.lose_request(0, Kind::transaction); }},
      {"not sent", [](World& w) { w.disconnect(0); }},
  };

  /// Client 0 has a write hold and, nested in it, a read hold. It releases the first.
  void set_up(FaultAction fault) {
    const Owner owner = Owner::unique();
    const auto writes = granted(0, LockWorld::to_write(owner));
    reads_ = granted(0, LockWorld::to_read(owner));
    name_ = lock_.nodes().at(0);
    fault(lock_.world());
    reset_counts();
    lock_.release(writes);
    run();
    ASSERT_FALSE(client(0).is_connected());
  }
  /// Client 1 acquires the lock in a path that has been recreated.
  std::size_t acquired_by_other(Request request) {
    const auto other = granted_in_later_path(1, request);
    EXPECT_EQ(core::parse_znode_name(lock_.nodes().at(0))->sequence,
              core::parse_znode_name(name_)->sequence);
    return other;
  }
  /// Client 0 reconnects, and the znode of `other` is spared.
  void expect_spared(std::size_t other) {
    const auto nodes = lock_.nodes();
    reconnect(0);
    EXPECT_EQ(lock_.nodes(), nodes);
    EXPECT_EQ(lock_.call(other).hold.state(), HoldState::held);
    EXPECT_NE(lock_.call(reads_).hold.state(), HoldState::held);
    finish();
    remove_path();
  }

  std::size_t reads_ = 0;
  std::string name_;
};

TEST_F(DowngradeSameName, NameIsAnotherContenders_ItIsSpared) {
  for (const auto& [name, fault] : kAllFaults) {
    for (const auto& request : {LockWorld::to_write(), LockWorld::to_read()}) {
      SCOPED_TRACE(name);
      set_up(fault);
      expect_spared(acquired_by_other(request));
      EXPECT_EQ(lock_.losses_notified(reads_), 1U);
    }
  }
}

// The path is recreated during the pause after the refusal.
TEST_F(DowngradeSameName, Throttled_OtherIsSpared) {
  const Owner owner = Owner::unique();
  const auto writes = granted(0, LockWorld::to_write(owner));
  reads_ = granted(0, LockWorld::to_read(owner));
  name_ = lock_.nodes().at(0);
  lock_.world().fail_next(0, Kind::transaction, Status::throttled);
  release(writes);
  const auto other = acquired_by_other(LockWorld::to_write());
  run_for(1s);
  expect_spared(other);
}

// The release comes while the client looks for its znode.
TEST_F(DowngradeSameName, ReleasedDuringLook_OtherIsSpared) {
  for (const auto& [name, fault] : kAllFaults) {
    for (int steps = 0; steps < 12; ++steps) {
      SCOPED_TRACE(std::string(name) + ", released after step " + std::to_string(steps));
      set_up(fault);
      const auto other = acquired_by_other(LockWorld::to_write());
      lock_.world().reconnect(0);
      int count = 0;
      run_only(0, [&] { return count++ == steps; });
      lock_.release(reads_);
      expect_spared(other);
    }
  }
}

// An earlier copy of the transaction was executed.
TEST_F(DowngradeSameName, ReaderZnodeExists_ReleaseDeletesIt) {
  const Owner owner = Owner::unique();
  const auto writes = granted(0, LockWorld::to_write(owner));
  const auto reads = granted(0, LockWorld::to_read(owner));
  client(0).fail_next(Kind::transaction, Status::node_exists, true);  // executed by an earlier copy
  lock_.release(writes);
  run();
  EXPECT_EQ(lock_.nodes().size(), 1U);
  release(reads);
  EXPECT_EQ(lock_.nodes().size(), 0U) << "stays until the session ends";
}

}  // namespace
}  // namespace zklock::model
