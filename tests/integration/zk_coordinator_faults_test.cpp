// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "support/expire_session.h"
#include "support/forwarder.h"
#include "support/free_ports.h"
#include "support/raw_client.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"
#include "support/wait_for.h"

namespace zklock::client {
namespace {

using testing::eventually;
using testing::RawClient;
using testing::SharedServer;
using testing::TestChroot;
using Kind = Event::Kind;

std::vector<Event> of_kind(const Journal& journal, Kind kind) {
  std::vector<Event> chosen;
  for (const Event& event : journal.events()) {
    if (event.kind == kind) chosen.push_back(event);
  }
  return chosen;
}

// A connection attempt at the moment of the session's end can block for two thirds of this timeout.
ClientOptions with_short_sessions(const testing::ZooKeeperServer& server) {
  ClientOptions options = Probe::with(server.hosts());
  options.session_timeout = std::chrono::seconds(6);
  return options;
}

// The session survives a restart, even on a busy machine.
ClientOptions outlasting_a_restart(const testing::ZooKeeperServer& server) {
  ClientOptions options = Probe::with(server.hosts());
  options.session_timeout = std::chrono::seconds(60);
  return options;
}

void restart(testing::ZooKeeperServer& server) {
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
}

TEST(ZkCoordinatorFaults, ServerDown_RequestsAreHeldAndSentInOrder) {
  const auto server = serving();
  Probe probe(outlasting_a_restart(*server));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const SessionId session = probe.session();
  server->kill_hard();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  EXPECT_NE(probe->trouble().find(server->hosts()), std::string::npos) << probe->trouble();
  for (int i = 0; i < 200; i += 2) {
    probe.send(i, rq::CreateContender{"/p", "lock-", ""});
    probe.send(i + 1, rq::CountChildren{"/p"}, session);
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
  EXPECT_EQ(probe->trouble(), "");
}

TEST(ZkCoordinatorFaults, ReplyLost_IsUnknownAndFollowsSuspended) {
  const auto server = serving();
  Probe probe(outlasting_a_restart(*server));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const std::string node = probe.contend("/p");
  server->pause();
  probe.send(1, rq::CreateContender{"/p", "lock-", ""});
  probe.send(2, rq::AnnounceAndDelete{node});
  probe.send(3, rq::Delete{node});
  probe.send(4, rq::Check{node});
  probe.send(5, probe.watch(5, node));
  probe.send(6, rq::ListChildren{"/p"});
  probe.send(7, rq::CreateParents{"/p/q"});
  probe.send(8, rq::Transaction{node, {rq::write::Create{"/p/x"}, rq::write::Set{node, "x"}}});
  probe.send(9, probe.watch<rq::ListAndWatch>(9, "/p"));
  probe.send(10, probe.watch<rq::ExistsAndWatch>(10, "/p/none"));
  server->kill_hard();
  ASSERT_TRUE(probe.journal().wait(10, Kind::reply));
  bool suspended = false;
  for (const Event& event : probe.journal().events()) {
    suspended = suspended || event.kind == Kind::suspended;
    if (event.kind != Kind::reply) continue;
    EXPECT_TRUE(suspended) << event.tag;
    EXPECT_EQ(event.status, Status::unknown) << event.tag;
    EXPECT_EQ(event.session, probe.session());
  }
  const auto answered = probe.journal().count(Kind::answered);
  restart(*server);
  const Reply reply = probe.call(rq::ListChildren{"/p"});
  EXPECT_EQ(reply.status, Status::ok);
  EXPECT_EQ(probe.journal().count(Kind::answered), answered + 1) << "lost replies prove nothing";
}

TEST(ZkCoordinatorFaults, ServerRestarts_WatchIsRetained) {
  const auto server = serving();
  Probe probe(outlasting_a_restart(*server));
  Probe other(outlasting_a_restart(*server));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const std::string stays = other.contend("/p");
  const std::string unwanted = other.contend("/p");
  ASSERT_EQ(probe.call(probe.watch(1, stays)).status, Status::ok);
  const auto [id, reply] = probe.call_with_id(probe.watch(2, unwanted));
  ASSERT_EQ(reply.status, Status::ok);
  server->kill_hard();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  probe->unwatch(id);
  restart(*server);
  ASSERT_EQ(probe.call(rq::Check{stays}).status, Status::ok);
  EXPECT_TRUE(eventually([&] {
    const auto watches = server->four_letter_word("wchs");
    return watches && watches->find("Total watches:1") != std::string::npos;
  })) << "the C client sets both again, and the second is then removed";
  ASSERT_EQ(other.call(rq::Delete{unwanted}).status, Status::ok);
  ASSERT_EQ(other.call(rq::Delete{stays}).status, Status::ok);
  ASSERT_TRUE(probe.journal().wait(1, Kind::watch));
  EXPECT_EQ(probe.journal().last(Kind::watch).tag, 1);
}

TEST(ZkCoordinatorFaults, ServerRestarts_EveryKindOfWatchIsRetained) {
  const auto server = serving();
  Probe probe(outlasting_a_restart(*server));
  ASSERT_EQ(probe.call(rq::CreateParents{"/list"}).status, Status::ok);
  ASSERT_EQ(probe.call(rq::CreateParents{"/there"}).status, Status::ok);
  ASSERT_EQ(probe.call(probe.watch<rq::ListAndWatch>(1, "/list")).status, Status::ok);
  ASSERT_EQ(probe.call(probe.watch<rq::ExistsAndWatch>(2, "/absent")).status, Status::no_node);
  ASSERT_EQ(probe.call(probe.watch<rq::ExistsAndWatch>(3, "/there")).status, Status::ok);
  server->kill_hard();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  restart(*server);
  ASSERT_EQ(probe.call(rq::Check{"/there"}).status, Status::ok);
  EXPECT_EQ(probe.journal().count(Kind::watch), 0U);
  probe.contend("/list");
  ASSERT_EQ(probe.call(rq::CreateParents{"/absent"}).status, Status::ok);
  ASSERT_EQ(probe.call(rq::Delete{"/there"}).status, Status::ok);
  ASSERT_TRUE(probe.journal().wait(3, Kind::watch));
  const auto events = of_kind(probe.journal(), Kind::watch);
  const std::vector expected = {rq::WatchEvent::children, rq::WatchEvent::created,
                                rq::WatchEvent::deleted};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(events[i].tag, static_cast<int>(i) + 1);
    EXPECT_EQ(events[i].change, expected[i]);
  }
}

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
  EXPECT_TRUE(current.children.empty()) << "the node went with its session";
  for (const Event& event : of_kind(probe.journal(), Kind::watch)) {
    EXPECT_EQ(event.session, old) << "the servers may tell of the node's end in time";
  }
  EXPECT_EQ(probe.call(rq::CountChildren{"/p"}).session, fresh.session);
}

TEST(ZkCoordinatorFaults, SessionEnded_OnlyBoundRequestsFail) {
  const auto server = serving();
  Probe probe(outlasting_a_restart(*server));
  const SessionId old = probe.session();
  server->kill_hard();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  for (int i = 0; i < 20; i += 2) {
    probe.send(i, rq::CreateContender{"/", "lock-", ""}, old);
    probe.send(i + 1, rq::CountChildren{"/"});
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
    for (int i = 0; i < 300; ++i) probe.send(i, rq::CountChildren{"/p"}, session);
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

TEST(ZkCoordinatorFaults, OneAddressOfTwoDead_Reconnects) {
  const testing::FreePorts dead(1);
  const auto server = serving();
  Probe probe(server->hosts() + ",127.0.0.1:" + std::to_string(dead[0]));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  for (int i = 0; i < 2; ++i) {
    server->kill_hard();
    ASSERT_TRUE(probe.journal().wait(static_cast<std::size_t>(i) + 1, Kind::suspended));
    restart(*server);
    EXPECT_EQ(probe.call(rq::CountChildren{"/p"}).status, Status::ok);
  }
}

TEST(ZkCoordinatorFaults, UnresolvableHost_OtherHostsAreUsed) {
  const TestChroot chroot(SharedServer::hosts());
  Probe probe("no-such-host.invalid:2181," + chroot.hosts());
  EXPECT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
}

TEST(ZkCoordinatorFaults, NoConnection_ReplyStatesTheReason) {
  const testing::FreePorts dead(1);
  const std::string address = "127.0.0.1:" + std::to_string(dead[0]);
  ClientOptions options = Probe::with(address);
  options.connection_timeout = std::chrono::milliseconds(200);
  {
    Probe probe(options);
    const Reply reply = probe.call(rq::CountChildren{"/"});
    EXPECT_EQ(reply.status, Status::not_connected);
    EXPECT_NE(reply.detail.find("no session could be opened with " + address), std::string::npos)
        << reply.detail;
    EXPECT_EQ(probe.journal().events().size(), 0U);
  }
  options.hosts = "no-such-host.invalid:2181";
  Probe probe(options);
  const Reply reply = probe.call(rq::CountChildren{"/"});
  EXPECT_EQ(reply.status, Status::not_connected);
  EXPECT_TRUE(eventually([&] {
    return probe->trouble().find("none of the hosts no-such-host.invalid:2181 could be resolved") !=
           std::string::npos;
  })) << probe->trouble();
}

TEST(ZkCoordinatorFaults, ConnectionTimeout_OnlyBoundRequestsKeepWaiting) {
  const auto server = serving();
  ClientOptions options = outlasting_a_restart(*server);
  options.connection_timeout = std::chrono::milliseconds(200);
  Probe probe(options);
  const SessionId session = probe.session();
  server->kill_hard();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  probe.send(1, rq::CountChildren{"/"}, session);
  const Reply reply = probe.call(rq::CountChildren{"/"});
  EXPECT_EQ(reply.status, Status::not_connected);
  EXPECT_NE(reply.detail.find("has been lost for"), std::string::npos) << reply.detail;
  EXPECT_EQ(probe.journal().count(Kind::reply), 0U);
  restart(*server);
  ASSERT_TRUE(probe.journal().wait(1, Kind::reply));
  EXPECT_EQ(probe.journal().last(Kind::reply).status, Status::ok);
}

TEST(ZkCoordinatorFaults, UnreadableNode_IsCheckedAfterReconnect) {
  const auto server = serving();
  Probe probe(outlasting_a_restart(*server));
  RawClient raw(server->hosts());
  ACL nothing[] = {{ZOO_PERM_ADMIN, {const_cast<char*>("world"), const_cast<char*>("anyone")}}};
  ASSERT_EQ(raw.create("/unreadable", "x", 0, ACL_vector{1, nothing}).rc, ZOK);
  ASSERT_EQ(probe.call(probe.watch(1, "/unreadable")).status, Status::ok);
  server->kill_hard();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  restart(*server);
  EXPECT_EQ(RawClient(server->hosts()).delete_node("/unreadable"), ZOK);
  ASSERT_TRUE(probe.journal().wait(1, Kind::watch));
  EXPECT_EQ(probe.journal().last(Kind::watch).change, rq::WatchEvent::deleted);
}

// Servers since 3.8.4 send no event of a znode to a client that may not read it. So the C client
// does not learn that its watch no longer exists.
TEST(ZkCoordinatorFaults, WatchEndedWithoutEvent_IsNotSetAfterReconnect) {
  const auto server = serving();
  const testing::Forwarder forwarder(server->port(), testing::Forwarder::Events::swallowed);
  ClientOptions options = outlasting_a_restart(*server);
  options.hosts = "127.0.0.1:" + std::to_string(forwarder.port());
  Probe probe(options);
  RawClient raw(server->hosts());
  ACL nothing[] = {{ZOO_PERM_ADMIN, {const_cast<char*>("world"), const_cast<char*>("anyone")}}};
  const auto make = [&](const std::string& node) {
    EXPECT_EQ(raw.create(node, "x", 0, ACL_vector{1, nothing}).rc, ZOK);
  };
  const auto settle = [&] {  // behind a query and the two removals around it
    for (int i = 0; i < 4; ++i) EXPECT_EQ(probe.call(rq::Check{"/"}).status, Status::ok);
  };
  for (const char* node : {"/waited-for", "/given-up", "/comes-again"}) make(node);
  ASSERT_EQ(probe.call(probe.watch(1, "/waited-for")).status, Status::ok);
  const auto [gives_up, reply2] = probe.call_with_id(probe.watch(2, "/given-up"));
  const auto [misses, reply3] = probe.call_with_id(probe.watch(3, "/comes-again"));
  for (const char* node : {"/comes-again", "/given-up", "/waited-for"}) {
    ASSERT_EQ(raw.delete_node(node), ZOK);
  }
  make("/comes-again");
  probe->unwatch(gives_up);
  probe->unwatch(misses);
  ASSERT_TRUE(probe.journal().wait(1, [](const Event& event) { return event.tag == 1; }));
  settle();
  make("/waited-for");
  make("/given-up");
  settle();  // so that the C client has a zxid at which they existed
  server->kill_hard();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  restart(*server);
  ASSERT_EQ(probe.call(rq::Check{"/"}).status, Status::ok);
  const std::string watches = server->four_letter_word("wchp").value_or("/no answer");
  EXPECT_EQ(watches.find('/'), std::string::npos) << watches;
}

TEST(ZkCoordinatorFaults, ServerStartsLater_RequestsWaitForIt) {
  testing::ZooKeeperServer server;
  Probe probe(server.hosts());
  probe.send(1, rq::CreateParents{"/p"});
  probe.send(2, rq::CountChildren{"/p"});
  server.start();
  ASSERT_TRUE(probe.journal().wait(2, Kind::reply));
  for (const Event& reply : of_kind(probe.journal(), Kind::reply)) {
    EXPECT_EQ(reply.status, Status::ok);
  }
}

TEST(ZkCoordinatorFaults, AbandonedRequest_IsNeverSent) {
  testing::ZooKeeperServer server;
  Probe probe(server.hosts());
  const RequestId first = probe.send(1, rq::CreateParents{"/abandoned"});
  probe.send(2, rq::CreateParents{"/kept"});
  probe->abandon(first);
  probe->abandon(first);
  ASSERT_TRUE(probe.journal().wait(1, Kind::reply));
  EXPECT_EQ(probe.journal().last(Kind::reply).tag, 1);
  EXPECT_EQ(probe.journal().last(Kind::reply).status, Status::not_sent);
  server.start();
  ASSERT_TRUE(probe.journal().wait(2, Kind::reply));
  EXPECT_EQ(probe.call(rq::CountChildren{"/abandoned"}).status, Status::no_node);
  const auto [done, reply] = probe.call_with_id(rq::CountChildren{"/kept"});
  EXPECT_EQ(reply.status, Status::ok);
  probe->abandon(done);
  (void)probe.call(rq::CountChildren{"/"});
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
  probe.send(-1, rq::CountChildren{"/"});
  std::vector<RequestId> ids;
  for (int i = 0; i < 3 * kOfEach; i += 3) {
    ids.push_back(probe.send(i, rq::CountChildren{"/"}, session, true));
    ids.push_back(probe.send(i + 1, rq::CountChildren{"/"}, session));
    ids.push_back(probe.send(i + 2, rq::CountChildren{"/"}));
  }
  server->kill_hard();
  ASSERT_TRUE(probe.journal().wait(1 + kOfEach, Kind::reply)) << "under way, or only at once";
  const auto is_abandoned = [](int tag) { return tag % (3 * kEvery) == 1; };
  for (int tag = 0; tag < 3 * kOfEach; ++tag) {
    const auto id = ids[static_cast<std::size_t>(tag)];
    const bool abandoned = tag % 3 == 0 || is_abandoned(tag) ? probe->abandon(id) : false;
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

TEST(ZkCoordinatorFaults, CredentialRefused_AllRequestsFail) {
  testing::ZooKeeperOptions server_options;
  server_options.extra_jvm_flags = {"-Dzookeeper.DigestAuthenticationProvider.enabled=false"};
  const auto server = serving(server_options);
  Probe probe(server->hosts());
  const Reply first = probe.call(rq::CreateParents{"/p"});
  EXPECT_EQ(first.status, Status::auth_failed) << first.detail;
  EXPECT_EQ(probe.call(rq::CountChildren{"/"}).status, Status::auth_failed);
  EXPECT_EQ(probe->trouble(), "the servers refused the credential");
  ASSERT_TRUE(probe.journal().wait(1, Kind::ended));
  EXPECT_EQ(probe.journal().last(Kind::ended).status, Status::auth_failed);
  EXPECT_EQ(probe.journal().count(Kind::connected), 1U) << "no second attempt";
}

}  // namespace
}  // namespace zklock::client
