// SPDX-License-Identifier: Apache-2.0
// Requests and watches when the session ends.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "integration/zk_coordinator_faults_fixture.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using Kind = Event::Kind;

TEST(ZkCoordinatorFaults, SessionExpired_NewSessionFollows) {
  const auto server = serving();
  Probe probe(with_short_sessions(*server));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const std::string node = probe.contend("/p");
  ASSERT_EQ(probe.call(probe.watch(1, node)).status, Status::ok);
  const SessionId old = probe.session();
  testing::expire_session(server->hosts(), old.value);
  ASSERT_TRUE(probe.journal().wait(1, Kind::ended));
  EXPECT_EQ(probe.journal().last(Kind::ended).status, Status::session_ended);
  EXPECT_EQ(probe.journal().last(Kind::ended).session, old);
  ASSERT_TRUE(probe.journal().wait(1, [old](const Event& event) {
    return event.kind == Kind::connected && event.session > old;
  }));
  const Event fresh = probe.journal().last(Kind::connected);
  EXPECT_TRUE(fresh.flag);

  EXPECT_EQ(probe.call(rq::Check{node}, old).status, Status::session_ended);
  const Reply current = probe.call(rq::ListChildren{"/p"}, fresh.session);
  EXPECT_EQ(current.status, Status::ok);
  EXPECT_TRUE(current.children.empty()) << "the node was deleted with its session";
  for (const Event& event : of_kind(probe.journal(), Kind::watch)) {
    EXPECT_EQ(event.session, old) << "the servers may report the node's end in time";
  }
  EXPECT_EQ(probe.call(rq::Exists{"/p"}).session, fresh.session);
}

TEST(ZkCoordinatorFaults, SessionEnded_OnlyBoundRequestsFail) {
  const auto server = serving();
  Probe probe(outlasting_a_restart(*server));
  const SessionId old = probe.session();
  server->kill();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  for (int i = 0; i < 20; i += 2) {
    probe.send(i, rq::CreateContender{"/", "lock-", ""}, old);
    probe.send(i + 1, rq::Exists{"/"});
  }
  // The restarted server does not know the session.
  std::filesystem::remove_all(server->directory() / "data" / "version-2");
  restart(*server);
  ASSERT_TRUE(probe.journal().wait(20, Kind::reply));
  bool ended = false;
  for (const Event& event : probe.journal().events()) {
    ended = ended || event.kind == Kind::ended;
    if (event.kind != Kind::reply) continue;
    EXPECT_TRUE(ended) << event.tag;
    EXPECT_EQ(event.status, event.tag % 2 == 0 ? Status::session_ended : Status::ok) << event.tag;
    EXPECT_NE(event.session, old) << event.tag;
  }
}

TEST(ZkCoordinatorFaults, SessionExpires_RequestsInFlightEnd) {
  const auto server = serving();
  ClientOptions options = with_short_sessions(*server);
  options.max_in_flight = 4;
  Probe probe(options);
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  for (int round = 0; round < 5; ++round) {
    const std::size_t before = probe.journal().count(Kind::reply);
    const std::size_t sessions = probe.journal().count(Kind::ended);
    const SessionId session = probe.journal().last(Kind::connected).session;
    for (int i = 0; i < 300; ++i) probe.send(i, rq::Exists{"/p"}, session);
    testing::expire_session(server->hosts(), session.value);
    ASSERT_TRUE(probe.journal().wait(before + 300, Kind::reply));
    ASSERT_TRUE(probe.journal().wait(sessions + 1, Kind::ended));
    ASSERT_TRUE(probe.journal().wait(1, [session](const Event& event) {
      return event.kind == Kind::connected && event.session > session;
    }));
  }
  bool ended = false;
  SessionId current;
  for (const Event& event : probe.journal().events()) {
    if (event.kind == Kind::connected) {
      current = event.session;
      ended = false;
    }
    if (event.kind == Kind::ended) ended = true;
    if (event.kind == Kind::answered) {
      EXPECT_FALSE(ended && event.session == current);
    }
    if (event.kind == Kind::reply && event.status == Status::session_ended) {
      EXPECT_TRUE(ended);
    }
  }
  EXPECT_EQ(probe.journal().count(Kind::reply), 5U * 300U) << "each once";
}

// The threads submit all the time, also at the moment when a session ends.
TEST(ZkCoordinatorFaults, BoundRequestsWhileSessionsEnd_StayOnTheirs) {
  const auto server = serving();
  ClientOptions options = with_short_sessions(*server);
  options.retry_delay_min = options.retry_delay_max = std::chrono::milliseconds(1);
  std::atomic<int> sent{0};
  std::atomic<int> replied{0};
  std::atomic<int> succeeded{0};
  Probe probe(options);
  std::atomic<SessionId> current{probe.session()};
  std::atomic<bool> stop{false};
  const auto send = [&] {
    while (!stop) {
      const SessionId session = current;
      ++sent;
      probe->submit({rq::Exists{"/"}, session}, [&, session](const Reply& reply) {
        ++replied;
        if (reply.status != Status::ok) return;
        EXPECT_EQ(reply.session, session);
        ++succeeded;
      });
      std::this_thread::sleep_for(std::chrono::microseconds(20));  // limits the rate
    }
  };
  {
    std::vector<std::jthread> senders;
    for (int i = 0; i < 3; ++i) senders.emplace_back(send);
    for (int round = 0; round < 10; ++round) {
      const int before = succeeded;
      EXPECT_TRUE(testing::eventually([&] { return succeeded > before + 100; }));
      const SessionId old = current;
      testing::expire_session(server->hosts(), old.value);
      EXPECT_TRUE(probe.journal().wait(1, [old](const Event& event) {
        return event.kind == Kind::connected && event.session > old;
      }));
      current = probe.journal().last(Kind::connected).session;
    }
    stop = true;
  }
  EXPECT_TRUE(testing::eventually([&] { return replied == sent; }));
}

}  // namespace
}  // namespace zklock::client
