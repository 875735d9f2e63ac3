// SPDX-License-Identifier: Apache-2.0
// Requests that are held while no server is connected.
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "integration/zk_coordinator_faults_fixture.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using Kind = Event::Kind;

TEST(ZkCoordinatorFaults, ServerDown_RequestsAreHeldAndSentInOrder) {
  const auto server = serving();
  Probe probe(outlasting_a_restart(*server));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const SessionId session = probe.session();
  server->kill();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  EXPECT_NE(probe->connection_problem().find(server->hosts()), std::string::npos)
      << probe->connection_problem();
  for (int i = 0; i < 200; i += 2) {
    probe.send(i, rq::CreateContender{"/p", "lock-", ""});
    probe.send(i + 1, rq::Exists{"/p"}, session);
  }
  EXPECT_EQ(probe.journal().count(Kind::reply), 0U);
  const Instant before_start = LeaseClock::now();
  restart(*server);
  ASSERT_TRUE(probe.journal().wait(200, Kind::reply));
  int tag = 0;
  for (const Event& reply : of_kind(probe.journal(), Kind::reply)) {
    EXPECT_EQ(reply.tag, tag++);
    EXPECT_EQ(reply.status, Status::ok);
    EXPECT_EQ(reply.session, session);
  }
  const Event again = probe.journal().last(Kind::connected);
  EXPECT_FALSE(again.flag) << "the same session";
  EXPECT_EQ(again.session, session);
  EXPECT_GT(again.time, before_start) << "the attempts before that are known to have failed";
  EXPECT_EQ(probe->connection_problem(), "");
}

TEST(ZkCoordinatorFaults, ConnectionTimeout_OnlyBoundRequestsKeepWaiting) {
  const auto server = serving();
  ClientOptions options = outlasting_a_restart(*server);
  options.connection_timeout = std::chrono::milliseconds(200);
  Probe probe(options);
  const SessionId session = probe.session();
  server->kill();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  probe.send(1, rq::Exists{"/"}, session);
  const Reply reply = probe.call(rq::Exists{"/"});
  EXPECT_EQ(reply.status, Status::not_connected);
  EXPECT_NE(reply.detail.find("has been lost for"), std::string::npos) << reply.detail;
  EXPECT_EQ(probe.journal().count(Kind::reply), 0U);
  restart(*server);
  ASSERT_TRUE(probe.journal().wait(1, Kind::reply));
  EXPECT_EQ(probe.journal().last(Kind::reply).status, Status::ok);
}

TEST(ZkCoordinatorFaults, ServerStartsLater_RequestsWaitForIt) {
  testing::TestServer server;
  Probe probe(server.hosts());
  probe.send(1, rq::CreateParents{"/p"});
  probe.send(2, rq::Exists{"/p"});
  server.start();
  ASSERT_TRUE(probe.journal().wait(2, Kind::reply));
  for (const Event& reply : of_kind(probe.journal(), Kind::reply)) {
    EXPECT_EQ(reply.status, Status::ok);
  }
}

TEST(ZkCoordinatorFaults, AbandonedRequest_IsNeverSent) {
  testing::TestServer server;
  Probe probe(server.hosts());
  const RequestId first = probe.send(1, rq::CreateParents{"/abandoned"});
  probe.send(2, rq::CreateParents{"/kept"});
  probe->cancel_unsent(first);
  probe->cancel_unsent(first);
  ASSERT_TRUE(probe.journal().wait(1, Kind::reply));
  EXPECT_EQ(probe.journal().last(Kind::reply).tag, 1);
  EXPECT_EQ(probe.journal().last(Kind::reply).status, Status::not_sent);
  server.start();
  ASSERT_TRUE(probe.journal().wait(2, Kind::reply));
  EXPECT_EQ(probe.call(rq::Exists{"/abandoned"}).status, Status::no_node);
  const auto [done, reply] = probe.call_with_id(rq::Exists{"/kept"});
  EXPECT_EQ(reply.status, Status::ok);
  probe->cancel_unsent(done);
  (void)probe.call(rq::Exists{"/"});
  EXPECT_EQ(probe.journal().count(Kind::reply), 2U);
}

// Requests that wait for their turn, and then for the connection.
TEST(ZkCoordinatorFaults, HeldRequests_EndByKindAndRestIsSentInOrder) {
  constexpr int kOfEach = 100;
  constexpr int kEvery = 10;
  const auto server = serving();
  ClientOptions options = outlasting_a_restart(*server);
  options.max_in_flight = 1;
  Probe probe(options);
  const SessionId session = probe.session();
  server->pause();
  probe.send(-1, rq::Exists{"/"});
  std::vector<RequestId> ids;
  for (int i = 0; i < 3 * kOfEach; i += 3) {
    ids.push_back(probe.send(i, rq::Exists{"/"}, session, true));
    ids.push_back(probe.send(i + 1, rq::Exists{"/"}, session));
    ids.push_back(probe.send(i + 2, rq::Exists{"/"}));
  }
  server->kill();
  ASSERT_TRUE(probe.journal().wait(1 + kOfEach, Kind::reply)) << "in flight, or only at once";
  const auto is_abandoned = [](int tag) { return tag % (3 * kEvery) == 1; };
  for (int tag = 0; tag < 3 * kOfEach; ++tag) {
    const auto id = ids[static_cast<std::size_t>(tag)];
    const bool abandoned = tag % 3 == 0 || is_abandoned(tag) ? probe->cancel_unsent(id) : false;
    EXPECT_EQ(abandoned, is_abandoned(tag)) << "what is answered cannot be";
  }
  ASSERT_TRUE(probe.journal().wait(1 + kOfEach + kOfEach / kEvery, Kind::reply));
  restart(*server);
  ASSERT_TRUE(probe.journal().wait(1 + 3 * kOfEach, Kind::reply));
  int last = 0;
  for (const Event& reply : of_kind(probe.journal(), Kind::reply)) {
    if (reply.tag == -1) {
      EXPECT_EQ(reply.status, Status::unknown);
    } else if (reply.tag % 3 == 0 || is_abandoned(reply.tag)) {
      EXPECT_EQ(reply.status, Status::not_sent) << reply.tag;
    } else {
      EXPECT_EQ(reply.status, Status::ok) << reply.tag;
      EXPECT_LT(last, reply.tag);
      last = reply.tag;
    }
  }
}

}  // namespace
}  // namespace zklock::client
