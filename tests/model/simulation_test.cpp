// SPDX-License-Identifier: Apache-2.0
// The simulated ensemble: time, connections that break, and servers that lag. The differential test
// compares the rest with a real server.
#include <algorithm>

#include <gtest/gtest.h>

#include "zklock/testing/simulation/sim_coordinator.h"
#include "zklock/testing/simulation/sim_dispatcher.h"
#include "zklock/testing/simulation/sim_ensemble.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;
using namespace client::request;

constexpr const char* to_string(WatchEvent event) {
  switch (event) {
    case WatchEvent::created: return "created";
    case WatchEvent::changed: return "changed";
    case WatchEvent::children: return "children";
    case WatchEvent::deleted: return "deleted";
  }
  return "";
}

/// A client that records, in order, each call that it receives. Session calls become "connected!"
/// (a new session), "connected", "suspended" and "ended session ended". A reply becomes
/// "LABEL: STATUS" and a watch event "LABEL EVENT", with the label of the request.
class Recorder : public client::SessionObserver {
 public:
  Recorder(World& world, std::size_t c) : world_(world), c_(c) {}

  SimCoordinator& coordinator() { return world_.client(c_); }
  /// Starts the coordinator, runs until it is connected, and clears the log.
  void connect() {
    coordinator().start(*this);
    world_.run_all();
    log.clear();
  }

  void send(const std::string& label, Operation operation) {
    coordinator().submit({std::move(operation)}, [this, label](const Reply& reply) {
      log.emplace_back(label + ": " + std::string(to_string(reply.status)));
    });
  }
  void create(const std::string& label) { send(label, CreateContender{"/p", "lock-", label}); }
  client::request::OnWatchEvent logs(const std::string& label) {
    return [this, label](SessionId, WatchEvent event) {
      log.emplace_back(label + " " + to_string(event));
    };
  }
  std::vector<std::string> take_log() { return std::exchange(log, {}); }

  void on_connected(const client::SessionInfo& info) override {
    log.emplace_back(info.is_new ? "connected!" : "connected");
  }
  void on_suspended(SessionId) override { log.emplace_back("suspended"); }
  void on_ended(SessionId, Status why) override {
    log.emplace_back("ended " + std::string(to_string(why)));
  }
  void on_answered(SessionId, Instant, core::AnsweredBy) override {}

  std::vector<std::string> log;

 private:
  World& world_;
  std::size_t c_;
};

using Log = std::vector<std::string>;

TEST(SimEnsemble, SessionNotTouchedForTimeout_Expires) {
  SimClock clock;
  SimEnsemble ensemble{clock};
  const SessionId session = ensemble.open_session(6s);
  const Instant start = clock.now();
  ensemble.apply(session, CreateContender{"/", "lock-", "data"});
  clock.advance_to(start + 4s);
  ensemble.touch(session);
  clock.advance_to(start + 10s - 1ns);
  EXPECT_TRUE(ensemble.is_alive(session));
  EXPECT_EQ(ensemble.ephemerals(session).size(), 1U);
  clock.advance_to(start + 10s);
  EXPECT_FALSE(ensemble.is_alive(session));
  EXPECT_EQ(ensemble.tree().nodes().size(), SimEnsemble{clock}.tree().nodes().size());
  EXPECT_EQ(clock.pending(), 0U);
}

TEST(SimEnsemble, NewLeader_GrantsEachSessionItsFullTimeout) {
  SimClock clock;
  SimEnsemble ensemble{clock};
  const SessionId session = ensemble.open_session(6s);
  const Instant start = clock.now();
  clock.advance_to(start + 5s);
  ensemble.restart();
  clock.advance_to(start + 10s);
  EXPECT_TRUE(ensemble.is_alive(session));
  clock.advance_to(start + 11s);
  EXPECT_FALSE(ensemble.is_alive(session));
}

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

TEST_F(SimFaultsTest, CloseWhileDisconnected_SessionEndsByTimeout) {
  client.create("mine");
  world.run_all();
  const SessionId session = coordinator().session();
  world.disconnect(0);
  client.create("held");
  coordinator().close();
  EXPECT_EQ(client.log, (Log{"mine: ok", "ended closed", "held: closed"}));
  EXPECT_TRUE(world.ensemble().is_alive(session));
  world.run_for(6s);
  EXPECT_FALSE(world.ensemble().is_alive(session));
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

TEST_F(SimFaultsTest, EventLostWithConnection_IsSentAgain) {
  world.ensemble().create("/p/x");
  client.send("w", GetAndWatch{"/p/x", client.logs("w")});
  world.run_all();
  world.ensemble().set_data("/p/x", "2");  // its event is in flight
  world.disconnect(0);
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(client.log, (Log{"w: ok", "suspended", "connected", "w changed"}));
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
