// SPDX-License-Identifier: Apache-2.0
// Requests, replies and watches of the simulated coordinator.
#include "zklock/testing/simulation/sim_coordinator.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/model/recorder.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::model {
namespace {

class SimCoordinatorTest : public ::testing::Test {
 protected:
  SimCoordinatorTest() { world.ensemble().create_container("/p"); }
  SimCoordinator& coordinator() { return world.client(0); }

  World world{2};
  Recorder client{world, 0};
  Recorder other{world, 1};
};

using namespace std::chrono_literals;

TEST_F(SimCoordinatorTest, Submit_HasNoImmediateEffect) {
  client.connect();
  client.create("c");
  EXPECT_TRUE(client.log.empty());
  EXPECT_TRUE(world.ensemble().find("/p")->children.empty());
  world.run({Step::Kind::serve, 0});
  EXPECT_EQ(world.ensemble().find("/p")->children.size(), 1u);
  EXPECT_TRUE(client.log.empty());
  world.run({Step::Kind::receive, 0});
  EXPECT_EQ(client.log, Log{"c: ok"});
}

TEST_F(SimCoordinatorTest, SubmitInConnected_FollowsHeldRequests) {
  struct Submitting : Recorder {
    using Recorder::Recorder;
    void on_connected(const client::SessionInfo& info) override {
      Recorder::on_connected(info);
      send("later", Exists{"/p"});
      EXPECT_EQ(coordinator().server_watches(), 0u);
    }
  } submitting(world, 0);
  submitting.start();
  submitting.create("held");
  world.run_all();
  EXPECT_EQ(submitting.log, (Log{"connected!", "held: ok", "later: ok"}));
}

TEST_F(SimCoordinatorTest, ConnectionTimeout_HeldRequestsFail) {
  coordinator().options().connection_timeout = 3s;
  client.connect();
  world.disconnect(0);
  client.create("free");
  client.create("bound", "/p", coordinator().session());
  world.run_for(3s - 1ns);
  EXPECT_EQ(client.take_log(), Log{"suspended"});
  world.run_for(1ns);
  EXPECT_EQ(client.take_log(), Log{"free: not connected"});
  EXPECT_FALSE(client.replies["free"].detail.empty());
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(client.log, (Log{"connected", "bound: ok"}));
}

TEST_F(SimCoordinatorTest, AbandonedRequest_IsNeverSent) {
  client.start();
  const RequestId held = client.create("held");
  coordinator().cancel_unsent(held);
  EXPECT_TRUE(client.log.empty());
  world.run_all();
  EXPECT_EQ(client.take_log(), (Log{"held: not sent", "connected!"}));
  const RequestId sent = client.create("sent");
  coordinator().cancel_unsent(sent);
  world.run_all();
  EXPECT_EQ(client.log, Log{"sent: ok"});
  EXPECT_EQ(world.ensemble().find("/p")->children.size(), 1u);
}

TEST_F(SimCoordinatorTest, Reply_FollowsNotificationWithSendTime) {
  client.connect();
  client.log_answers = true;
  const Instant sent = world.now();
  client.send("check", Check{"/nothing"});
  world.clock().advance_to(sent + 100ms);
  client.send("read", Get{"/p"});
  world.fail_next(0, OperationKind::remove, Status::throttled);
  client.send("throttled", Delete{"/x"});
  world.run({Step::Kind::serve, 0});
  world.run({Step::Kind::receive, 0});
  EXPECT_EQ(client.last_answered, sent);
  world.run_all();
  EXPECT_EQ(client.log, (Log{"quorum", "check: no such node", "answered", "read: ok", "answered",
                             "throttled: throttled"}));
  EXPECT_EQ(client.replies["read"].sent_at, sent + 100ms);
}

TEST_F(SimCoordinatorTest, CloseWhileDisconnected_SessionEndsByTimeout) {
  client.connect();
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

// ---- watches -------------------------------------------------------------------------------------

using namespace std::chrono_literals;

TEST_F(SimCoordinatorTest, SeveralInterestsInPath_ShareOneWatch) {
  client.connect();
  world.ensemble().create("/p/x");
  const RequestId first = client.watch("first", "/p/x");
  client.watch("second", "/p/x");
  world.run_all();
  EXPECT_EQ(coordinator().server_watches(), 1u);
  EXPECT_EQ(coordinator().live_interests(), 2u);
  coordinator().unwatch(first);
  world.run_all();
  EXPECT_EQ(coordinator().server_watches(), 1u);
  client.log.clear();
  world.ensemble().remove("/p/x");
  world.run_all();
  EXPECT_EQ(client.log, Log{"second deleted"});
}

TEST_F(SimCoordinatorTest, Unwatch_SparesGetWatchInFlight) {
  client.connect();
  world.ensemble().create("/p/x");
  const RequestId first = client.watch("first", "/p/x");
  world.run_all();
  client.watch("second", "/p/x");
  coordinator().unwatch(first);
  world.run_all();
  EXPECT_EQ(coordinator().server_watches(), 1u);
  // If the request in flight fails, no interest is left for the watch of the first one.
  world.fail_next(0, OperationKind::get_and_watch, Status::throttled);
  const RequestId again = client.watch("again", "/p/x");
  world.run({Step::Kind::serve, 0});
  coordinator().unwatch(again);
  world.ensemble().set_data("/p/x", "");
  world.run_all();
  EXPECT_EQ(client.log, (Log{"first: ok", "second: ok", "again: throttled", "second changed"}));
  EXPECT_EQ(coordinator().server_watches(), 0u);
}

// The servers send no event of such a znode. The client checks once in a second whether it exists.
TEST_F(SimCoordinatorTest, UnreadableZnode_DeleteIsFoundByCheck) {
  client.connect();
  for (const ExistsRule rule : {ExistsRule::needs_nothing, ExistsRule::needs_read}) {
    const bool is_set = rule == ExistsRule::needs_nothing;
    world.ensemble().set_exists_rule(rule);
    world.ensemble().create("/p/x", "", {}, {.everyone = 0});
    const RequestId unwanted = client.watch("unwanted", "/p/x");
    world.run_all();
    coordinator().reset_counts();
    coordinator().unwatch(unwanted);
    world.run_for(2s);
    EXPECT_EQ(coordinator().watch_removals(), is_set ? 1U : 0U);
    client.watch("w", "/p/x");
    world.run_all();
    EXPECT_EQ(client.take_log(), (Log{"unwanted: ok", "w: ok"}));
    EXPECT_EQ(client.replies["w"].is_without_stat(), !is_set);
    EXPECT_EQ(coordinator().server_watches(), is_set ? 1U : 0U);
    world.run_for(3s);
    world.ensemble().remove("/p/x");
    world.run_all();
    EXPECT_TRUE(client.log.empty());
    world.run_for(1s);
    EXPECT_EQ(client.take_log(), Log{"w deleted"});
    EXPECT_EQ(coordinator().server_watches() + coordinator().live_interests(), 0U);
    const std::size_t served = coordinator().served();
    world.run_for(1500ms);
    EXPECT_EQ(coordinator().served(), served) << "no more checks";
  }
}

TEST_F(SimCoordinatorTest, ExistsWatchRefused_IsCheckedAfterReconnect) {
  client.connect();
  world.ensemble().create("/p/x", "", {}, {.everyone = 0});
  client.send("w", ExistsAndWatch{"/p/x", client.logs("w")});
  world.run_all();
  EXPECT_EQ(client.take_log(), Log{"w: ok"});
  EXPECT_TRUE(client.replies["w"].is_without_stat());
  world.disconnect(0);
  world.run_for(3s);
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(coordinator().server_watches(), 0U);
  EXPECT_EQ(coordinator().live_interests(), 1U);
  world.ensemble().remove("/p/x");
  world.run_for(1s);
  EXPECT_EQ(client.take_log(), (Log{"suspended", "connected", "w deleted"}));
}

TEST_F(SimCoordinatorTest, Reconnected_MissedEventsOfAllWatchesArrive) {
  client.connect();
  auto& ensemble = world.ensemble();
  for (const char* path : {"/list", "/busy", "/doomed", "/known", "/set"}) ensemble.create(path);
  for (const char* path : {"/list", "/busy", "/doomed"}) {
    client.send(path, ListAndWatch{path, client.logs(path)});
  }
  for (const char* path : {"/known", "/set", "/absent", "/coming"}) {
    client.send(path, ExistsAndWatch{path, client.logs(path)});
  }
  world.run_all();
  world.disconnect(0);
  world.run_all();
  client.log.clear();
  ensemble.create("/busy/child");
  ensemble.set_data("/list", "not a child");
  ensemble.remove("/doomed");
  ensemble.set_data("/set", "2");
  ensemble.create("/coming");
  world.reconnect(0);
  world.run_all();
  std::sort(client.log.begin(), client.log.end());
  EXPECT_EQ(client.take_log(), (Log{"/busy children", "/coming created", "/doomed deleted",
                                    "/set changed", "connected"}));
  EXPECT_EQ(coordinator().server_watches(), 3u);
  ensemble.create("/absent");
  ensemble.create("/list/child");
  ensemble.remove("/known");
  world.run_all();
  EXPECT_EQ(client.log, (Log{"/absent created", "/list children", "/known deleted"}));
}

}  // namespace
}  // namespace zklock::model
