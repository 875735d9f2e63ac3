// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "support/raw_client.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using testing::RawClient;
using testing::SharedServer;
using testing::TestChroot;
using Kind = Event::Kind;

TEST(ZkCoordinator, EveryOperation_IsExecuted) {
  const TestChroot chroot(SharedServer::hosts());
  RawClient raw(chroot.hosts());
  Probe probe(chroot.hosts());
  const Instant before = LeaseClock::now();

  EXPECT_EQ(probe.call(rq::CreateContender{"/a/b", "lock-", "me"}).status, Status::no_node);
  EXPECT_EQ(probe.call(rq::CreateParents{"/a/b"}).status, Status::ok);
  EXPECT_EQ(probe.call(rq::CreateParents{"/a/b"}).status, Status::ok) << "exists";

  const Reply made = probe.call(rq::CreateContender{"/a/b", "lock-", "me"});
  ASSERT_EQ(made.status, Status::ok) << made.detail;
  EXPECT_EQ(made.name, "lock-0000000000");
  EXPECT_EQ(made.session, probe.session());
  EXPECT_GE(made.sent_at, before);
  EXPECT_LE(made.sent_at, LeaseClock::now());
  const auto seen = raw.get_data("/a/b/lock-0000000000");
  EXPECT_EQ(seen.data, "me");
  EXPECT_EQ(seen.stat.czxid, made.token.zxid);
  EXPECT_EQ(seen.stat.ephemeralOwner, made.session.value);

  EXPECT_EQ(probe.call(rq::Exists{"/a/b"}).child_count, 1);
  EXPECT_EQ(probe.call(rq::ListChildren{"/a/b"}).children,
            std::vector<std::string>{"lock-0000000000"});
  EXPECT_EQ(probe.call(rq::Exists{"/a/b"}).pzxid, made.token);
  const Reply got = probe.call(rq::Get{"/a/b/lock-0000000000"});
  EXPECT_EQ(got.data, "me");
  EXPECT_EQ(got.token, made.token);
  EXPECT_EQ(got.ephemeral_owner, made.session);
  EXPECT_EQ(got.created_ms, seen.stat.ctime);
  EXPECT_EQ(got.data_length, 2);
  EXPECT_EQ(probe.call(rq::ListChildren{"/a/b/lock-0000000000"}).data_length, 2);
  EXPECT_EQ(probe.call(rq::Check{"/a/b/lock-0000000000"}).status, Status::ok);
  EXPECT_EQ(probe.call(rq::Delete{"/a/b"}).status, Status::not_empty);
  EXPECT_EQ(probe.call(rq::AnnounceAndDelete{"/a/b/lock-0000000000"}).status, Status::ok);

  const std::string gone = "/a/b/lock-0000000000";
  for (const Operation& operation : std::vector<Operation>{
           rq::AnnounceAndDelete{gone}, rq::Delete{gone}, rq::Check{gone}, rq::Get{gone},
           probe.watch(0, gone), rq::ListChildren{gone}, rq::Exists{gone}}) {
    const Reply reply = probe.call(operation);
    EXPECT_EQ(reply.status, Status::no_node) << operation.index();
    EXPECT_EQ(reply.detail, "ZNONODE (-101)");
  }
  const Reply second = probe.call(rq::CreateContender{"/a/b", "lock-", ""});
  EXPECT_GT(second.token, made.token);
  EXPECT_EQ(probe.call(rq::Get{"/a/b/" + second.name}).data, "");
  EXPECT_EQ(probe.call(rq::Delete{"/a/b/" + second.name}).status, Status::ok);
}

TEST(ZkCoordinator, CreateThatCounts_IsAnsweredWithParent) {
  const TestChroot chroot(SharedServer::hosts());
  Probe probe(chroot.hosts());
  const rq::CreateContender create{"/p", "lock-", "me", true};
  const Reply refused = probe.call(create);
  EXPECT_EQ(refused.status, Status::no_node);
  ASSERT_TRUE(refused.parent);
  EXPECT_EQ(refused.parent->status, Status::no_node);

  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  probe.contend("/p");
  const Reply made = probe.call(create);
  ASSERT_EQ(made.status, Status::ok) << made.detail;
  EXPECT_EQ(made.name, "lock-0000000001");
  ASSERT_TRUE(made.parent);
  EXPECT_EQ(made.parent->status, Status::ok);
  EXPECT_EQ(made.parent->session, made.session);
  EXPECT_EQ(made.parent->child_count, 2);
  EXPECT_EQ(made.parent->pzxid, made.token);
  EXPECT_EQ(made.parent->next_sequence.value, 2);
  EXPECT_EQ(made.parent->token, probe.call(rq::Exists{"/p"}).token);
  EXPECT_FALSE(probe.call(rq::CreateContender{"/p", "lock-", ""}).parent);
}

TEST(ZkCoordinator, CreateThatMakesPath_CreatesOnlyLastLevel) {
  const TestChroot chroot(SharedServer::hosts());
  RawClient raw(chroot.hosts());
  Probe probe(chroot.hosts());
  const auto create = [](const char* path) {
    return rq::CreateContender{path, "lock-", "me", true, true};
  };
  const Reply refused = probe.call(create("/a/b"));
  EXPECT_EQ(refused.status, Status::no_node);
  ASSERT_TRUE(refused.parent);
  EXPECT_EQ(refused.parent->status, Status::no_node);
  EXPECT_EQ(raw.children("/").names, std::vector<std::string>{});

  const auto answers = probe.journal().count(Kind::answered);
  const Reply made = probe.call(create("/a"));
  ASSERT_EQ(made.status, Status::ok) << made.detail;
  EXPECT_FALSE(made.path_existed);
  EXPECT_EQ(made.name, "lock-0000000000");
  ASSERT_TRUE(made.parent);
  EXPECT_EQ(made.parent->child_count, 1);
  EXPECT_EQ(made.parent->pzxid, made.token);
  EXPECT_LT(made.parent->token, made.token);
  EXPECT_EQ(probe.journal().count(Kind::answered), answers + 2) << "the creates; not the exists";
  EXPECT_EQ(raw.get_acl("/a").entries,
            (std::vector<testing::AclEntry>{{ZOO_PERM_ALL, "world", "anyone"}}));

  const Reply next = probe.call(create("/a"));
  ASSERT_EQ(next.status, Status::ok) << next.detail;
  EXPECT_TRUE(next.path_existed);
  EXPECT_EQ(next.parent->child_count, 2);
}

TEST(ZkCoordinator, CreateThatMakesPath_NeedsNoPermissionIfPathExists) {
  const TestChroot chroot(SharedServer::hosts());
  RawClient raw(chroot.hosts());
  ACL read_only[] = {{ZOO_PERM_READ, {const_cast<char*>("world"), const_cast<char*>("anyone")}}};
  ASSERT_EQ(raw.create("/shut").rc, ZOK);
  ASSERT_EQ(raw.create("/shut/open").rc, ZOK);
  ASSERT_EQ(raw.set_acl("/shut", {1, read_only}), ZOK);
  Probe probe(chroot.hosts());
  const Reply made = probe.call(rq::CreateContender{"/shut/open", "lock-", "", true, true});
  EXPECT_EQ(made.status, Status::ok) << made.detail;
  EXPECT_TRUE(made.path_existed);
  EXPECT_EQ(probe.call(rq::CreateContender{"/shut/new", "lock-", "", true, true}).status,
            Status::no_node);
}

TEST(ZkCoordinator, ListedChildren_ReportNextSequenceNumber) {
  const TestChroot chroot(SharedServer::hosts());
  Probe probe(chroot.hosts());
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  EXPECT_EQ(probe.call(rq::ListChildren{"/p"}).next_sequence.value, 0);
  const std::string first = probe.contend("/p");
  probe.contend("/p");
  EXPECT_EQ(probe.call(rq::ListChildren{"/p"}).next_sequence.value, 2);
  ASSERT_EQ(probe.call(rq::Delete{first}).status, Status::ok);
  EXPECT_EQ(probe.call(rq::ListChildren{"/p"}).next_sequence.value, 2);
  // Failed creates and deletes do not raise the counter. A create in a transaction does.
  const rq::Transaction skip{{}, {rq::write::Create{"/p/x"}, rq::write::Remove{"/p/x"}}};
  ASSERT_EQ(probe.call(skip).status, Status::ok);
  EXPECT_EQ(probe.call(rq::ListChildren{"/p"}).next_sequence.value, 3);
  ASSERT_EQ(probe.call(rq::Transaction{{}, {rq::write::Create{"/p/lock-0000000004"}}}).status,
            Status::ok);
  EXPECT_EQ(probe.call(rq::CreateContender{"/p", "lock-", ""}).status, Status::node_exists);
  EXPECT_EQ(probe.call(rq::ListChildren{"/p"}).next_sequence.value, 4);
}

TEST(ZkCoordinator, Parents_AreContainersThatServerDeletes) {
  testing::TestServerOptions options;
  options.extra_jvm_flags = {"-Dznode.container.checkIntervalMs=100"};
  const auto server = serving(options);
  Probe probe(server->hosts());
  ASSERT_EQ(probe.call(rq::CreateParents{"/a/b"}).status, Status::ok);
  ASSERT_EQ(probe.call(rq::Delete{probe.contend("/a/b")}).status, Status::ok);
  EXPECT_TRUE(testing::eventually(
      [&] { return probe.call(rq::Exists{"/a"}).status == Status::no_node; }, kTestTimeout));
}

TEST(ZkCoordinator, PipelinedRequests_AreExecutedInOrder) {
  const TestChroot chroot(SharedServer::hosts());
  Probe probe(chroot.hosts());
  ASSERT_EQ(probe.call(rq::CreateParents{"/q"}).status, Status::ok);
  std::vector<int> counts;
  for (int i = 0; i < 100; ++i) {
    probe.send(2 * i, rq::CreateContender{"/q", "lock-", "x"});
    probe->submit({rq::Exists{"/q"}}, [&, i](const Reply& reply) {
      counts.push_back(reply.child_count);
      Event event{Kind::reply};
      event.tag = 2 * i + 1;
      probe.journal().add(event);
    });
  }
  ASSERT_TRUE(probe.journal().wait(200, Kind::reply));
  int tag = 0;
  for (const Event& event : probe.journal().events()) {
    if (event.kind == Kind::reply) {
      EXPECT_EQ(event.tag, tag++);
    }
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(counts[static_cast<std::size_t>(i)], i + 1);
}

TEST(ZkCoordinator, SessionAndAnswerEvents_PrecedeReplies) {
  const TestChroot chroot(SharedServer::hosts());
  const Instant before = LeaseClock::now();
  Probe probe(chroot.hosts());
  probe.send(1, rq::CreateParents{"/p"});
  probe.send(2, rq::Get{"/p"});
  ASSERT_TRUE(probe.journal().wait(2, Kind::reply));
  const auto events = probe.journal().events();
  // CreateParents sends a create and an existence check, which is a read. Only the answer to the
  // create is reported. Then comes the Get.
  std::vector<Kind> kinds;
  for (const Event& event : events) kinds.push_back(event.kind);
  ASSERT_EQ(kinds, (std::vector<Kind>{Kind::connected, Kind::answered, Kind::reply, Kind::answered,
                                      Kind::reply}));
  EXPECT_TRUE(events[0].flag) << "is new";
  EXPECT_GE(events[0].time, before);
  EXPECT_EQ(events[0].timeout, std::chrono::seconds(10));
  EXPECT_TRUE(events[1].flag) << "a create is of the quorum";
  EXPECT_FALSE(events[3].flag) << "a read is not";
  EXPECT_LE(events[1].time, events[3].time);
  probe->close();
  EXPECT_EQ(probe.journal().last(Kind::ended).status, Status::closed);
}

TEST(ZkCoordinator, Sync_IsAnsweredByTheLeader) {
  const TestChroot chroot(SharedServer::hosts());
  Probe probe(chroot.hosts());
  EXPECT_EQ(probe.call(rq::Sync{"/"}).status, Status::ok);
  EXPECT_EQ(probe.journal().last(Kind::answered).by, core::AnsweredBy::leader);
  EXPECT_EQ(probe.call(rq::Sync{"/absent"}).status, Status::ok) << "the path is not read";
  EXPECT_EQ(probe.call(rq::Sync{"/a//b"}).status, Status::server_error);
  EXPECT_EQ(probe.call(rq::Check{"/"}).status, Status::ok);
  EXPECT_EQ(probe.journal().last(Kind::answered).by, core::AnsweredBy::quorum);
}

TEST(ZkCoordinator, NodeBytesOfSession_AreCapped) {
  const TestChroot chroot(SharedServer::hosts());
  ClientOptions options = Probe::with(chroot.hosts());
  const std::size_t one = (chroot.path() + "/p/lock-0000000000").size();
  options.max_node_bytes = 3 * one;
  Probe probe(options);
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(probe.call(rq::CreateContender{"/none", "lock-", ""}).status, Status::no_node)
        << "what was not created does not count";
  }
  const std::string first = probe.contend("/p");
  const std::string second = probe.contend("/p");
  const std::string third = probe.contend("/p");
  const Reply refused = probe.call(rq::CreateContender{"/p", "lock-", ""});
  EXPECT_EQ(refused.status, Status::too_many_nodes);
  EXPECT_EQ(refused.session, SessionId{}) << "not sent";
  EXPECT_EQ(probe.call(rq::Exists{"/p"}).child_count, 3);

  ASSERT_EQ(probe.call(rq::Delete{first}).status, Status::ok);
  EXPECT_EQ(probe.call(rq::Delete{first}).status, Status::no_node) << "the budget is returned once";
  ASSERT_EQ(probe.call(rq::AnnounceAndDelete{second}).status, Status::ok);
  probe.contend("/p");
  probe.contend("/p");
  EXPECT_EQ(probe.call(rq::CreateContender{"/p", "lock-", ""}).status, Status::too_many_nodes);

  RawClient(chroot.hosts()).delete_node(third);
  EXPECT_EQ(probe.call(rq::Check{third}).status, Status::no_node);
  probe.contend("/p");
}

TEST(ZkCoordinator, Burst_IsSentInOrderWithinFlightLimit) {
  const TestChroot chroot(SharedServer::hosts());
  ClientOptions options = Probe::with(chroot.hosts());
  options.max_in_flight = 500;
  Probe probe(options);
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const std::string node = probe.contend("/p");
  constexpr int kBurst = 20'000;
  int next = 0;
  int wrong = 0;
  std::mutex mutex;
  std::condition_variable changed;
  for (int i = 0; i < kBurst; ++i) {
    probe->submit({rq::Get{node}}, [&, i](const Reply& reply) {
      const std::lock_guard guard(mutex);
      if (reply.status != Status::ok || i != next) ++wrong;
      ++next;
      changed.notify_all();
    });
  }
  // The server's own count of outstanding requests stays below the cap.
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, 2 * kTestTimeout, [&] { return next == kBurst; })) << next;
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(probe.journal().count(Kind::suspended), 0U);
}

TEST(ZkCoordinator, UnusablePath_IsRefusedAndOthersStillWork) {
  const TestChroot chroot(SharedServer::hosts());
  Probe probe(chroot.hosts());
  for (const char* path : {"/a//b", "/a/", "/a/../b", "/a\x01"}) {
    EXPECT_EQ(probe.call(rq::AnnounceAndDelete{path}).status, Status::server_error) << path;
    EXPECT_EQ(probe.call(rq::Check{path}).status, Status::server_error) << path;
    EXPECT_EQ(probe.call(rq::Delete{path}).status, Status::server_error) << path;
    EXPECT_EQ(probe.call(rq::CreateParents{path}).status, Status::server_error) << path;
    EXPECT_EQ(probe.call(rq::ListChildren{path}).status, Status::server_error) << path;
  }
  EXPECT_EQ(probe.call(probe.watch(0, "/a//b")).status, Status::server_error);
  EXPECT_EQ(probe.call(rq::CreateParents{"/a"}).status, Status::ok);
}

TEST(ZkCoordinator, NoLogger_WritesNothing) {
  const TestChroot chroot(SharedServer::hosts());
  ::testing::internal::CaptureStderr();
  {
    Probe probe(chroot.hosts());
    EXPECT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace zklock::client
