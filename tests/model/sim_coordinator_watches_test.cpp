// SPDX-License-Identifier: Apache-2.0
// Watches of the simulated coordinator, and the order of their events.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/model/recorder.h"
#include "tests/model/sim_coordinator_fixture.h"
#include "zklock/testing/simulation/sim_coordinator.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::model {
namespace {

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

TEST_F(SimCoordinatorTest, LastUnwatch_RemovesServerWatch) {
  client.connect();
  world.ensemble().create("/p/x");
  const RequestId answered = client.watch("a", "/p/x");
  world.run_all();
  coordinator().unwatch(answered);
  world.run_all();
  EXPECT_EQ(coordinator().server_watches(), 0u);
  const RequestId unanswered = client.watch("u", "/p/x");
  world.run({Step::Kind::serve, 0});
  coordinator().unwatch(unanswered);
  world.run_all();
  EXPECT_EQ(coordinator().server_watches(), 0u);
  world.ensemble().remove("/p/x");
  world.run_all();
  EXPECT_EQ(client.log, (Log{"a: ok", "u: ok"}));
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

TEST_F(SimCoordinatorTest, Handler_CanEndOtherInterest) {
  client.connect();
  world.ensemble().create("/p/x");
  RequestId second{};
  client.send("first", GetAndWatch{"/p/x", [&](SessionId, WatchEvent) {
                                     client.log.emplace_back("first");
                                     coordinator().unwatch(second);
                                   }});
  second = client.watch("second", "/p/x");
  world.run_all();
  world.ensemble().remove("/p/x");
  world.run_all();
  EXPECT_EQ(client.log, (Log{"first: ok", "second: ok", "first"}));
  EXPECT_EQ(coordinator().live_interests(), 0u);
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
