// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/model/recorder.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;

class SimFaultsTest : public ::testing::Test {
 protected:
  SimFaultsTest() {
    world.ensemble().create_container("/p");
    client.connect();
  }
  SimCoordinator& coordinator() { return world.client(0); }
  std::size_t children() { return world.ensemble().find("/p")->children.size(); }

  World world{2};
  Recorder client{world, 0};
};

TEST_F(SimFaultsTest, Disconnect_LosesRequestsInFlight) {
  client.create("applied");
  client.create("not applied");
  world.run({Step::Kind::serve, 0});
  world.disconnect(0);
  client.create("held");
  EXPECT_TRUE(client.log.empty());
  world.run_all();
  EXPECT_EQ(children(), 1u);
  EXPECT_EQ(client.take_log(),
            (Log{"suspended", "applied: outcome unknown", "not applied: outcome unknown"}));
  const Instant attempt = world.now();
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(client.log, (Log{"connected", "held: ok"}));
  EXPECT_EQ(client.sessions.back().id, client.sessions.front().id);
  EXPECT_EQ(client.sessions.back().attempt_began, attempt);
  EXPECT_EQ(children(), 2u);
}

TEST_F(SimFaultsTest, FailedReconnect_IsNotReported) {
  world.disconnect(0);
  world.reconnect(0);
  world.run({Step::Kind::serve, 0});
  world.disconnect(0);
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(client.log, (Log{"suspended", "connected"}));
}

TEST_F(SimFaultsTest, LateCreate_ArrivesOnlyBeforeSessionMoves) {
  client.create("late");
  world.disconnect(0, OnTheWay::linger);
  EXPECT_EQ(children(), 0u);
  world.run({Step::Kind::late, 0});
  EXPECT_EQ(children(), 1u);
  world.reconnect(0);
  world.run_all();
  client.create("too late");
  world.disconnect(0, OnTheWay::linger);
  world.reconnect(0);
  world.run({Step::Kind::serve, 0});
  EXPECT_FALSE(coordinator().can_arrive_late());
  world.run_all();
  EXPECT_EQ(children(), 1u);
  EXPECT_EQ(client.log, (Log{"suspended", "late: outcome unknown", "connected", "suspended",
                             "too late: outcome unknown", "connected"}));
}

TEST_F(SimFaultsTest, UnwatchWhileDisconnected_IsNotSetAgain) {
  world.ensemble().create("/p/x");
  const RequestId watch = client.watch("w", "/p/x");
  world.run_all();
  world.disconnect(0);
  coordinator().unwatch(watch);
  world.ensemble().remove("/p/x");
  world.reconnect(0);
  EXPECT_EQ(world.run_all(), 3u);  // suspended, the handshake, its reply
  EXPECT_EQ(client.log, (Log{"w: ok", "suspended", "connected"}));
}

TEST_F(SimFaultsTest, EventLostWithConnection_IsSentAgain) {
  world.ensemble().create("/p/x");
  client.watch("w", "/p/x");
  world.run_all();
  world.ensemble().set_data("/p/x", "2");  // its event is in flight
  world.disconnect(0);
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(client.log, (Log{"w: ok", "suspended", "connected", "w changed"}));
}

TEST_F(SimFaultsTest, ProcessPaused_SessionExpiresWithoutPings) {
  world.run_for(60s);
  EXPECT_TRUE(client.log.empty());
  const SessionId session = coordinator().session();
  bool ran = false;
  world.pause(0);
  world.scheduler(0).at(world.now() + 1s, [&] { ran = true; });
  world.dispatcher(0).post([&] { ran = true; });
  world.run_for(6s);
  EXPECT_FALSE(world.ensemble().is_alive(session));
  EXPECT_TRUE(client.log.empty());
  EXPECT_FALSE(ran);
  world.resume(0);
  world.run_all();
  EXPECT_TRUE(ran);
  EXPECT_EQ(client.log, (Log{"suspended", "ended session ended", "connected!"}));
}

TEST_F(SimFaultsTest, NoServerForTheTimeout_ClientReportsSessionEnd) {
  const Duration timeout = coordinator().options().session_timeout;
  world.ensemble().lose_leader();
  world.disconnect(0);
  world.run_for(timeout - 1ns);
  EXPECT_EQ(client.take_log(), Log{"suspended"});
  world.run_for(1ns);
  EXPECT_EQ(client.take_log(), Log{"ended session ended"});
  world.ensemble().restart();
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(client.log, Log{"connected!"});
  EXPECT_EQ(world.ensemble().session_count(), 2U) << "the servers keep the old one for a while";
}

// Servers reject a client that has seen a later zxid, whatever it requests.
TEST_F(SimFaultsTest, EmptiedServers_ClientGetsNewSession) {
  client.create("before");
  world.run_all();
  world.ensemble().empty();
  world.run_all();
  EXPECT_EQ(client.take_log(), (Log{"before: ok", "suspended"}));
  client.send("after", Exists{"/p"});
  for (int i = 0; i < 5; ++i) {
    world.reconnect(0);
    world.run_for(100ms);
    EXPECT_TRUE(coordinator().is_down());
  }
  world.run_for(coordinator().options().session_timeout);
  EXPECT_EQ(client.take_log(), Log{"ended session ended"});
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(client.log, (Log{"connected!", "after: no such node"}));
}

TEST_F(SimFaultsTest, RequestOutstanding_SendsNoPing) {
  const SessionId session = coordinator().session();
  client.send("unserved", Get{"/p"});
  const Instant sent = world.now();
  world.clock().advance_to(sent + 5s);
  EXPECT_EQ(world.ensemble().last_touch(session), sent);
  world.run_all();
  EXPECT_EQ(world.ensemble().last_touch(session), sent + 5s);
  world.run_until(sent + 20s);
  EXPECT_TRUE(world.ensemble().is_alive(session));
}

TEST_F(SimFaultsTest, IsolatedSession_ExpiresWithoutClientEvent) {
  client.create("mine");
  world.run_all();
  const SessionId session = coordinator().session();
  const Instant isolated = world.now();
  world.isolate(0);
  world.run_until(isolated + 6s - 1ns);
  EXPECT_TRUE(world.ensemble().is_alive(session));
  world.run_until(isolated + 6s);
  EXPECT_FALSE(world.ensemble().is_alive(session));
  EXPECT_EQ(children(), 0u);
  client.send("read", Exists{"/p"});
  client.send("check", Check{"/p"});
  world.run_for(2s);
  EXPECT_EQ(client.take_log(), (Log{"mine: ok", "read: ok"}));
  EXPECT_EQ(client.replies["read"].child_count, 1);
  world.heal(0);
  world.run_all();
  EXPECT_EQ(client.log,
            (Log{"suspended", "check: outcome unknown", "ended session ended", "connected!"}));
}

TEST_F(SimFaultsTest, LaggingServer_CatchesUpAtQuorumRequest) {
  client.create("lost");
  world.disconnect(0, OnTheWay::linger);
  coordinator().lag();
  world.run({Step::Kind::late, 0});
  world.reconnect(0);
  client.send("too early", ListChildren{"/p"});
  client.send("check", Check{"/p"});
  client.send("list", ListChildren{"/p"});
  world.run_all();
  EXPECT_EQ(client.replies["too early"].children.size(), 0u);
  EXPECT_EQ(client.replies["list"].children.size(), 1u);
}

TEST_F(SimFaultsTest, Touches_ReachLeaderAtRelayInterval) {
  World grid(1, {.session_timeout = 6s, .relay_interval = 1500ms, .relay_phase = 400ms});
  Recorder slow(grid, 0);
  slow.connect();  // the handshake is reported immediately
  const SessionId session = grid.client(0).session();
  const Instant start = grid.now();
  EXPECT_EQ(grid.ensemble().last_touch(session), start);
  slow.send("a", Get{"/"});
  grid.run_until(start + 400ms - 1ns);
  EXPECT_EQ(grid.ensemble().last_touch(session), start);
  grid.run_until(start + 400ms);
  EXPECT_EQ(grid.ensemble().last_touch(session), start + 400ms);
  slow.send("b", Get{"/"});  // just after the relay
  grid.run_until(start + 1900ms - 1ns);
  EXPECT_EQ(grid.ensemble().last_touch(session), start + 400ms);
  grid.run_until(start + 1900ms);
  EXPECT_EQ(grid.ensemble().last_touch(session), start + 1900ms);
  slow.send("c", Get{"/"});
  grid.run_for(1s);
  grid.isolate(0);  // drops the touch that was not relayed yet
  grid.run_until(start + 7900ms - 1ns);
  EXPECT_TRUE(grid.ensemble().is_alive(session));
  grid.run_until(start + 7900ms);
  EXPECT_FALSE(grid.ensemble().is_alive(session));
}

TEST_F(SimFaultsTest, EndlessEvents_AreDetected) {
  std::function<void()> again = [&] { world.dispatcher(0).post(again); };
  again();
  EXPECT_THROW(world.run_all(1000), std::runtime_error);
}

}  // namespace
}  // namespace zklock::model
