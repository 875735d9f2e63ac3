// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/simulation/sim_coordinator.h"

#include <gtest/gtest.h>

#include "tests/model/recorder.h"
#include "tests/model/sim_coordinator_fixture.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::model {
namespace {

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
