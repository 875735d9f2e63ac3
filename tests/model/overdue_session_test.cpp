// SPDX-License-Identifier: Apache-2.0
// Outages that exceed the session timeout. The client ends its session, which the ensemble may
// keep.
#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/recorder.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class OverdueSessionTest : public PathLockTest {
 protected:
  // Disconnects the client until its session is overdue. No session expires meanwhile.
  void lose_all_servers_for_the_timeout(std::size_t c) {
    ensemble().lose_leader();
    lock_.world().disconnect(c);
    run_for(client(c).options().session_timeout + 1s);
    ASSERT_EQ(client(c).session(), SessionId{});
  }
  void servers_return(std::size_t c) {
    ensemble().restart();
    lock_.world().reconnect(c);
    run();
  }
};

TEST_F(OverdueSessionTest, AtTimeout_ClientReportsSessionEnd) {
  World world{1};
  Recorder recorder{world, 0};
  recorder.connect();
  const Duration timeout = world.client(0).options().session_timeout;
  world.ensemble().lose_leader();
  world.disconnect(0);
  world.run_for(timeout - 1ns);
  EXPECT_EQ(recorder.take_log(), Log{"suspended"});
  world.run_for(1ns);
  EXPECT_EQ(recorder.take_log(), Log{"ended session ended"});
  world.ensemble().restart();
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(recorder.log, Log{"connected!"});
  EXPECT_EQ(world.ensemble().session_count(), 2U) << "the servers keep the old one for a while";
}

// The znode of the old session stays in the queue until the ensemble expires that session.
TEST_F(OverdueSessionTest, ZnodeOfOldSession_BlocksUntilExpiry) {
  const auto held = granted(0);
  const auto other = waiting(1);
  lose_all_servers_for_the_timeout(0);
  EXPECT_EQ(lock_.call(held).hold.state(), HoldState::lost);
  EXPECT_EQ(lock_.losses_notified(held), 1U);
  lock_.release(held);
  servers_return(0);
  const auto again = waiting(0);
  EXPECT_EQ(lock_.nodes().size(), 3U) << "the old one, the other client's, the new one";
  EXPECT_FALSE(is_granted(other));
  run_for(client(0).options().session_timeout + 1s);
  ASSERT_TRUE(is_granted(other));
  lock_.release(other);
  run();
  ASSERT_TRUE(is_granted(again));
  lock_.release(again);
  expect_rest();
}

// Requests of the old session that are in flight can still be executed in it.
TEST_F(OverdueSessionTest, LateReleaseOfOldSession_GrantsNext) {
  const auto held = granted(0);
  const auto other = waiting(1);
  release_node(held);
  ensemble().lose_leader();
  lock_.world().disconnect(0, OnTheWay::linger);
  run_for(client(0).options().session_timeout + 1s);
  servers_return(0);
  const auto again = lock_.acquire(0);
  run();
  run_for(client(0).options().session_timeout + 1s);
  ASSERT_TRUE(is_granted(other));
  EXPECT_FALSE(is_granted(again));
  lock_.release(other);
  run();
  ASSERT_TRUE(is_granted(again));
  lock_.release(again);
  expect_rest();
}

TEST_F(OverdueSessionTest, ServersReturn_WaiterQueuesAgain) {
  const auto held = granted(1);
  const auto waits = waiting(0);
  lose_all_servers_for_the_timeout(0);
  run_for(client(0).options().connection_timeout * 2);
  EXPECT_EQ(lock_.call(waits).outcomes, 0) << "it was in the queue, and waits on";
  servers_return(0);
  run_for(client(0).options().session_timeout + 1s);
  lock_.release(held);
  run();
  ASSERT_TRUE(is_granted(waits));
  lock_.release(waits);
  expect_rest();
}

// Servers reject a client that has seen a later zxid, whatever it requests.
TEST_F(OverdueSessionTest, EmptiedServers_ClientGetsNewSession) {
  World world{1};
  world.ensemble().create_container("/p");
  Recorder recorder{world, 0};
  recorder.connect();
  recorder.create("before");
  world.run_all();
  world.ensemble().empty();
  world.run_all();
  EXPECT_EQ(recorder.take_log(), (Log{"before: ok", "suspended"}));
  recorder.send("after", CountChildren{"/p"});
  for (int i = 0; i < 5; ++i) {
    world.reconnect(0);
    world.run_for(100ms);
    EXPECT_TRUE(world.client(0).is_down());
  }
  world.run_for(world.client(0).options().session_timeout);
  EXPECT_EQ(recorder.take_log(), Log{"ended session ended"});
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(recorder.log, (Log{"connected!", "after: no such node"}));
}

}  // namespace
}  // namespace zklock::model
