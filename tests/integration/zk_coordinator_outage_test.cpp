// SPDX-License-Identifier: Apache-2.0
// Outages that last longer than the session timeout.
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"

namespace zklock::client {
namespace {

using Kind = Event::Kind;

ClientOptions with_timeout_of_two_seconds(const testing::TestServer& server) {
  ClientOptions options = Probe::with(server.hosts());
  options.session_timeout = std::chrono::seconds(2);
  return options;
}

TEST(ZkCoordinatorOutage, NoServerForTheTimeout_EndsTheSession) {
  const auto server = serving();
  Probe probe(with_timeout_of_two_seconds(*server));
  const SessionId session = probe.session();
  server->kill();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  probe.send(1, rq::Exists{"/"}, session);
  ASSERT_TRUE(probe.journal().wait(1, Kind::ended)) << "although no server runs";
  EXPECT_EQ(probe.journal().last(Kind::ended).session, session);
  EXPECT_EQ(probe.journal().last(Kind::ended).status, Status::session_ended);
  ASSERT_TRUE(probe.journal().wait(1, Kind::reply));
  EXPECT_EQ(probe.journal().last(Kind::reply).status, Status::session_ended);
  EXPECT_EQ(probe.journal().count(Kind::connected), 1U);

  server->start();
  ASSERT_TRUE(server->wait_until_serving()) << server->log();
  ASSERT_TRUE(probe.journal().wait(2, Kind::connected));
  EXPECT_TRUE(probe.journal().last(Kind::connected).flag) << "a new session";
  EXPECT_NE(probe.journal().last(Kind::connected).session, session);
  EXPECT_EQ(probe.journal().count(Kind::ended), 1U);
}

// A server refuses a session whose client has seen a later zxid than the server's last one.
TEST(ZkCoordinatorOutage, ServerEmptied_GrantsNewSession) {
  const auto server = serving();
  Probe probe(with_timeout_of_two_seconds(*server));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const SessionId session = probe.session();
  for (int i = 0; i < 20; ++i) (void)probe.contend("/p");
  server->kill();
  server->erase_data();
  server->start();
  ASSERT_TRUE(server->wait_until_serving()) << server->log();
  const Reply reply = probe.call(rq::Exists{"/p"});
  EXPECT_EQ(reply.status, Status::no_node) << "it has been emptied";
  EXPECT_NE(reply.session, session);
  EXPECT_EQ(probe.journal().count(Kind::ended), 1U);
}

// The first lease counts from attempt_began. With an earlier time it would expire before the first
// grant.
TEST(ZkCoordinatorOutage, NoServerAtFirst_AttemptBeganIsOfLastAttempt) {
  const auto server = serving();
  server->kill();
  Probe probe(with_timeout_of_two_seconds(*server));
  const Instant timeout_over = LeaseClock::now() + std::chrono::seconds(2);
  std::this_thread::sleep_until(timeout_over);
  server->start();
  ASSERT_TRUE(probe.journal().wait(1, Kind::connected)) << server->log();
  EXPECT_GT(probe.journal().last(Kind::connected).time, timeout_over);
}

}  // namespace
}  // namespace zklock::client
