// SPDX-License-Identifier: Apache-2.0
// Connections that break: replies that are lost, watches, and requests that are held.
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "support/raw_client.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"
#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/servers/free_ports.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using Kind = Event::Kind;

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
  probe.send(11, rq::CreateContender{"/new", "lock-", "", true, true});
  server->kill();
  ASSERT_TRUE(probe.journal().wait(11, Kind::reply));
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
  server->kill();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  probe->unwatch(id);
  restart(*server);
  ASSERT_EQ(probe.call(rq::Check{stays}).status, Status::ok);
  EXPECT_TRUE(testing::eventually([&] {
    const auto watches = server->four_letter_word("wchs");
    return watches && watches->find("Total watches:1") != std::string::npos;
  })) << "the C client sets both again, and the second is then removed";
  ASSERT_EQ(other.call(rq::Delete{unwanted}).status, Status::ok);
  ASSERT_EQ(other.call(rq::Delete{stays}).status, Status::ok);
  ASSERT_TRUE(probe.journal().wait(1, Kind::watch));
  EXPECT_EQ(probe.journal().last(Kind::watch).tag, 1);
}

TEST(ZkCoordinatorFaults, OneAddressOfTwoDead_Reconnects) {
  const testing::FreePorts dead(1);
  const auto server = serving();
  Probe probe(server->hosts() + ",127.0.0.1:" + std::to_string(dead[0]));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  for (int i = 0; i < 2; ++i) {
    server->kill();
    ASSERT_TRUE(probe.journal().wait(static_cast<std::size_t>(i) + 1, Kind::suspended));
    restart(*server);
    EXPECT_EQ(probe.call(rq::Exists{"/p"}).status, Status::ok);
  }
}

TEST(ZkCoordinatorFaults, UnresolvableHost_OtherHostsAreUsed) {
  const testing::TestChroot chroot(testing::SharedServer::hosts());
  Probe probe("no-such-host.invalid:2181," + chroot.hosts());
  EXPECT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
}

TEST(ZkCoordinatorFaults, UnreadableNode_IsCheckedAfterReconnect) {
  const auto server = serving();
  Probe probe(outlasting_a_restart(*server));
  testing::RawClient raw(server->hosts());
  ACL nothing[] = {{ZOO_PERM_ADMIN, {const_cast<char*>("world"), const_cast<char*>("anyone")}}};
  ASSERT_EQ(raw.create("/unreadable", "x", 0, ACL_vector{1, nothing}).rc, ZOK);
  ASSERT_EQ(probe.call(probe.watch(1, "/unreadable")).status, Status::ok);
  server->kill();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  restart(*server);
  EXPECT_EQ(testing::RawClient(server->hosts()).delete_node("/unreadable"), ZOK);
  ASSERT_TRUE(probe.journal().wait(1, Kind::watch));
  EXPECT_EQ(probe.journal().last(Kind::watch).change, rq::WatchEvent::deleted);
}

// Servers since 3.8.4 send no event of a znode to a client that may not read it. So the C client
// does not learn that its watch no longer exists.
TEST(ZkCoordinatorFaults, WatchEndedWithoutEvent_IsNotSetAfterReconnect) {
  const auto server = serving();
  testing::FaultProxy proxy({server->port()});
  proxy.drop_events();
  ClientOptions options = outlasting_a_restart(*server);
  options.hosts = proxy.hosts();
  Probe probe(options);
  testing::RawClient raw(server->hosts());
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
  server->kill();
  ASSERT_TRUE(probe.journal().wait(1, Kind::suspended));
  restart(*server);
  ASSERT_EQ(probe.call(rq::Check{"/"}).status, Status::ok);
  const std::string watches = server->four_letter_word("wchp").value_or("/no answer");
  EXPECT_EQ(watches.find('/'), std::string::npos) << watches;
}

TEST(ZkCoordinatorFaults, CredentialRefused_AllRequestsFail) {
  testing::TestServerOptions server_options;
  server_options.extra_jvm_flags = {"-Dzookeeper.DigestAuthenticationProvider.enabled=false"};
  const auto server = serving(server_options);
  Probe probe(server->hosts());
  // The server closes the connection. If it has not read the request by then, the network can drop
  // its refusal, and the client connects again.
  Reply first;
  std::size_t attempts = 0;
  do {
    first = probe.call(rq::CreateParents{"/p"});
    ++attempts;
  } while (first.status == Status::unknown && attempts < 100);
  EXPECT_EQ(first.status, Status::auth_failed) << first.detail;
  EXPECT_EQ(probe.call(rq::Exists{"/"}).status, Status::auth_failed);
  EXPECT_EQ(probe->connection_problem(), "the servers refused the credential");
  ASSERT_TRUE(probe.journal().wait(1, Kind::ended));
  EXPECT_EQ(probe.journal().last(Kind::ended).status, Status::auth_failed);
  EXPECT_GE(probe.journal().count(Kind::connected), 1U);
  EXPECT_LE(probe.journal().count(Kind::connected), attempts) << "no attempt after the refusal";
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
  for (const Event& reply : probe.journal().of_kind(Kind::reply)) {
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
