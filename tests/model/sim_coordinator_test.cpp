// SPDX-License-Identifier: Apache-2.0
#include "tests/model/sim_coordinator.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/model/recorder.h"
#include "tests/model/world.h"

namespace zklock::model {
namespace {

using namespace std::chrono_literals;

class SimCoordinatorTest : public ::testing::Test {
 protected:
  SimCoordinatorTest() { world.ensemble().create_container("/p"); }
  SimCoordinator& coordinator() { return world.client(0); }

  World world{2};
  Recorder client{world, 0};
  Recorder other{world, 1};
};

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

TEST_F(SimCoordinatorTest, Steps_ListsPossibleStepsOnly) {
  EXPECT_TRUE(world.steps().empty());
  client.start();
  EXPECT_EQ(world.steps(), (std::vector<Step>{{Step::Kind::serve, 0}}));
  world.run({Step::Kind::serve, 0});
  EXPECT_EQ(world.steps(), (std::vector<Step>{{Step::Kind::receive, 0}, {Step::Kind::timer}}));
  world.dispatcher(1).post([] {});
  world.pause(0);
  EXPECT_EQ(world.steps(), (std::vector<Step>{{Step::Kind::task, 1}, {Step::Kind::timer}}));
  world.run({Step::Kind::receive, 0});
  EXPECT_TRUE(client.log.empty());
}

TEST_F(SimCoordinatorTest, PipelinedCount_IncludesOwnZnode) {
  client.connect();
  client.create("create");
  client.send("count", CountChildren{"/p"});
  world.run_all();
  EXPECT_EQ(client.log, (Log{"create: ok", "count: ok"}));
  EXPECT_EQ(client.replies["count"].child_count, 1);
  EXPECT_EQ(client.replies["create"].session, coordinator().session());
  EXPECT_EQ(client.replies["create"].token.zxid,
            world.ensemble().find("/p/lock-0000000000")->czxid);
}

TEST_F(SimCoordinatorTest, NotConnected_RequestsAreHeld) {
  client.start();
  client.create("a");
  client.send("b", CountChildren{"/p"});
  world.run_all();
  EXPECT_EQ(client.log, (Log{"connected!", "a: ok", "b: ok"}));
  EXPECT_EQ(client.replies["b"].child_count, 1);
}

TEST_F(SimCoordinatorTest, SubmitInConnected_FollowsHeldRequests) {
  struct Submitting : Recorder {
    using Recorder::Recorder;
    void connected(const client::SessionInfo& info) override {
      Recorder::connected(info);
      send("later", CountChildren{"/p"});
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
  coordinator().abandon(held);
  EXPECT_TRUE(client.log.empty());
  world.run_all();
  EXPECT_EQ(client.take_log(), (Log{"held: not sent", "connected!"}));
  const RequestId sent = client.create("sent");
  coordinator().abandon(sent);
  world.run_all();
  EXPECT_EQ(client.log, Log{"sent: ok"});
  EXPECT_EQ(world.ensemble().find("/p")->children.size(), 1u);
}

TEST_F(SimCoordinatorTest, SessionEnded_BoundRequestsAreNotSent) {
  client.connect();
  const SessionId dead = coordinator().session();
  world.disconnect(0);
  client.create("held", "/p", dead);
  world.expire(0);
  world.reconnect(0);
  world.run_all();
  EXPECT_EQ(client.take_log(),
            (Log{"suspended", "ended session ended", "held: session ended", "connected!"}));
  client.create("late", "/p", dead);
  EXPECT_TRUE(client.log.empty());
  world.run_all();
  EXPECT_EQ(client.log, Log{"late: session ended"});
  EXPECT_TRUE(world.ensemble().find("/p")->children.empty());
  EXPECT_NE(coordinator().session(), dead);
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

TEST_F(SimCoordinatorTest, AnnouncedDelete_FiresOneChangeEvent) {
  client.connect();
  other.connect();
  other.create("a");
  other.create("b");
  world.run_all();
  client.watch("a", "/p/lock-0000000000");
  client.watch("b", "/p/lock-0000000001");
  world.run_all();
  EXPECT_EQ(coordinator().server_watches(), 2u);
  client.log.clear();
  other.send("announced", AnnounceAndDelete{"/p/lock-0000000000"});
  other.send("plain", Delete{"/p/lock-0000000001"});
  world.run_all();
  EXPECT_EQ(client.log, (Log{"a changed", "b deleted"}));
  EXPECT_EQ(coordinator().server_watches(), 0u);
  EXPECT_EQ(coordinator().live_interests(), 0u);
}

TEST_F(SimCoordinatorTest, EventsAndReplies_ArriveInOneOrder) {
  client.connect();
  world.ensemble().create("/p/x", "1");
  client.watch("w", "/p/x");
  client.send("before", Get{"/p/x"});
  world.run({Step::Kind::serve, 0});
  world.run({Step::Kind::serve, 0});
  world.ensemble().set_data("/p/x", "2");
  client.send("after", Get{"/p/x"});
  world.run_all();
  EXPECT_EQ(client.log, (Log{"w: ok", "before: ok", "w changed", "after: ok"}));
  EXPECT_EQ(client.replies["before"].data, "1");
  EXPECT_EQ(client.replies["after"].data, "2");
}

TEST_F(SimCoordinatorTest, FailedGet_RegistersNothing) {
  client.connect();
  client.watch("w", "/p/x");
  world.run_all();
  EXPECT_EQ(client.take_log(), Log{"w: no such node"});
  EXPECT_EQ(coordinator().server_watches() + coordinator().live_interests(), 0u);
  world.ensemble().create("/p/x");
  world.ensemble().remove("/p/x");
  world.run_all();
  EXPECT_TRUE(client.log.empty());
}

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

TEST_F(SimCoordinatorTest, FailedGetWatch_LeavesNoOtherWatch) {
  client.connect();
  world.ensemble().create("/p/x");
  const RequestId first = client.watch("first", "/p/x");
  world.run_all();
  world.fail_next(0, OperationKind::get_and_watch, Status::server_error);
  client.watch("second", "/p/x");
  coordinator().unwatch(first);
  world.run_all();
  EXPECT_EQ(client.log, (Log{"first: ok", "second: server error"}));
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

TEST_F(SimCoordinatorTest, ListWatch_ReportsChildrenAndDelete) {
  client.connect();
  other.connect();
  client.send("list", ListAndWatch{"/p", client.logs("list")});
  client.watch("data", "/p");
  world.run_all();
  EXPECT_EQ(coordinator().server_watches(), 2u) << "they are two to the servers";
  client.log.clear();
  other.create("a");
  world.run_all();
  EXPECT_EQ(client.take_log(), Log{"list children"});
  other.create("b");
  world.run_all();
  EXPECT_TRUE(client.log.empty()) << "once";
  const RequestId again = client.send("again", ListAndWatch{"/p", client.logs("again")});
  client.send("list", ListAndWatch{"/p", client.logs("list")});
  world.run_all();
  EXPECT_EQ(client.replies["again"].children.size(), 2u);
  coordinator().unwatch(again);
  client.log.clear();
  other.send("x", Delete{"/p/lock-0000000000"});
  other.send("x", Delete{"/p/lock-0000000001"});
  world.run_all();
  EXPECT_EQ(client.take_log(), Log{"list children"});
  client.send("list", ListAndWatch{"/p", client.logs("list")});
  client.send("none", ListAndWatch{"/none", client.logs("none")});
  world.run_all();
  client.log.clear();
  other.send("x", Delete{"/p"});
  world.run_all();
  EXPECT_EQ(client.log, (Log{"data deleted", "list deleted"}));
  EXPECT_EQ(coordinator().server_watches() + coordinator().live_interests(), 0u);
}

TEST_F(SimCoordinatorTest, ExistsWatch_ReportsCreateAndDelete) {
  client.connect();
  const auto exists = [&](const std::string& label) {
    return client.send(label, ExistsAndWatch{"/p/x", client.logs(label)});
  };
  exists("come");
  const RequestId unwanted = exists("unwanted");
  client.watch("get", "/p/x");  // registers nothing, and removes nothing
  world.run_all();
  coordinator().unwatch(unwanted);
  world.run_all();
  EXPECT_EQ(client.take_log(),
            (Log{"come: no such node", "unwanted: no such node", "get: no such node"}));
  EXPECT_EQ(coordinator().server_watches(), 1u);
  world.ensemble().create("/p/x", "1");
  world.run_all();
  EXPECT_EQ(client.take_log(), Log{"come created"});
  exists("change");
  world.run_all();
  world.ensemble().set_data("/p/x", "2");
  world.run_all();
  EXPECT_EQ(client.take_log(), (Log{"change: ok", "change changed"}));
  EXPECT_EQ(client.replies["change"].data, "");
  EXPECT_EQ(client.replies["change"].version, 0);
  exists("go");
  world.run_all();
  EXPECT_EQ(client.replies["go"].version, 1);
  world.ensemble().remove("/p/x");
  world.run_all();
  EXPECT_EQ(client.take_log(), (Log{"go: ok", "go deleted"}));
  EXPECT_EQ(coordinator().server_watches() + coordinator().live_interests(), 0u);
  const RequestId last = exists("last");
  world.run_all();
  coordinator().unwatch(last);
  world.run_all();
  EXPECT_EQ(coordinator().server_watches(), 0u);
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

TEST_F(SimCoordinatorTest, Transaction_NeedsTheQuorum) {
  client.connect();
  client.log_answers = true;
  client.send("ok", Transaction{"/p", {write::Create{"/p/x"}}});
  client.send("fails", Transaction{"/p", {write::Create{"/p/x"}}});
  world.run_all();
  world.fail_next(0, OperationKind::transaction, Status::throttled);
  client.send("throttled", Transaction{"/p", {}});
  world.run_all();
  EXPECT_EQ(client.take_log(), (Log{"quorum", "ok: ok", "quorum", "fails: node exists", "answered",
                                    "throttled: throttled"}));
  EXPECT_EQ(client.replies["fails"].failed_operation, 1);
  coordinator().isolate();
  client.send("isolated", Transaction{"/p", {}});
  world.run_all();
  EXPECT_TRUE(client.log.empty());
  coordinator().heal();
  world.run_all();
  EXPECT_EQ(client.log, (Log{"quorum", "isolated: ok"}));
}

TEST_F(SimCoordinatorTest, Requests_AreCountedByKind) {
  client.connect();
  client.create("c");
  client.send("n", CountChildren{"/p"});
  client.send("n2", CountChildren{"/p"});
  EXPECT_EQ(coordinator().requests(OperationKind::create_contender), 1u);
  EXPECT_EQ(coordinator().requests(OperationKind::count_children), 2u);
  EXPECT_EQ(coordinator().requests(OperationKind::check), 0u);
  EXPECT_EQ(coordinator().requests(), 3u);
  coordinator().reset_counts();
  EXPECT_EQ(coordinator().requests(), 0u);
  EXPECT_EQ(world.client(1).requests(), 0u);
}

TEST_F(SimCoordinatorTest, Close_AnswersRequestsAndEndsSession) {
  client.connect();
  client.create("mine");
  world.run_all();
  const SessionId session = coordinator().session();
  EXPECT_EQ(world.ensemble().ephemerals(session).size(), 1u);
  client.create("served");
  client.create("on the way");
  world.run({Step::Kind::serve, 0});
  client.log.clear();
  coordinator().close();
  EXPECT_EQ(client.take_log(), (Log{"ended closed", "served: closed", "on the way: closed"}));
  EXPECT_FALSE(world.ensemble().is_alive(session));
  EXPECT_TRUE(world.ensemble().find("/p")->children.empty());
  client.create("after");
  EXPECT_TRUE(client.log.empty());
  world.run_all();
  EXPECT_EQ(client.log, Log{"after: closed"});
  EXPECT_TRUE(world.steps().empty());
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

}  // namespace
}  // namespace zklock::model
