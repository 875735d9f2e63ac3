// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "support/raw_client.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using testing::eventually;
using testing::RawClient;
using Kind = Event::Kind;

// The server reports the watches of all its clients together, so these tests have their own server.
class ZkCoordinatorWatch : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = serving().release(); }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override {
    probe_ = std::make_unique<Probe>(hosts());
    ASSERT_EQ(probe_->call(rq::CreateParents{parent_}).status, Status::ok);
  }
  void TearDown() override {
    probe_.reset();
    RawClient(hosts()).delete_recursive(parent_);
  }

  static std::string hosts() { return server_->hosts(); }
  // Returns whether the server has a watch on the path.
  static bool server_watches(const std::string& path) {
    const auto answer = server_->four_letter_word("wchp");
    return answer && ("\n" + *answer + "\n").find("\n" + path + "\n") != std::string::npos;
  }
  // Returns how many watches of both kinds the server has.
  static int watch_count() {
    const auto answer = server_->four_letter_word("mntr");
    const std::string key = "zk_watch_count\t";
    const auto at = answer ? answer->find(key) : std::string::npos;
    return at == std::string::npos ? -1 : std::stoi(answer->substr(at + key.size()));
  }
  Probe& probe() { return *probe_; }
  std::vector<Event> watch_events() { return probe().journal().of_kind(Kind::watch); }

  // When this returns, the journal has all earlier events: they come on one session, in order.
  void settle() { (void)probe().call(rq::Exists{"/"}); }

  const std::string parent_ = "/watched";
  std::unique_ptr<Probe> probe_;

  inline static testing::TestServer* server_ = nullptr;
};

TEST_F(ZkCoordinatorWatch, AnnouncedRelease_SendsOneChangedEvent) {
  Probe other(hosts());
  const std::string node = other.contend(parent_, "held");
  const Reply reply = probe().call(probe().watch(1, node));
  EXPECT_EQ(reply.status, Status::ok);
  EXPECT_EQ(reply.data, "held");
  EXPECT_EQ(reply.ephemeral_owner, other.session());
  EXPECT_TRUE(server_watches(node));

  ASSERT_EQ(other.call(rq::AnnounceAndDelete{node}).status, Status::ok);
  ASSERT_TRUE(probe().journal().wait(1, Kind::watch));
  const Event event = probe().journal().last(Kind::watch);
  EXPECT_EQ(event.change, rq::WatchEvent::changed);
  EXPECT_EQ(event.session, probe().session());
  settle();
  EXPECT_EQ(probe().journal().count(Kind::watch), 1U) << "and nothing more";
  EXPECT_FALSE(server_watches(node));
}

TEST_F(ZkCoordinatorWatch, WatchReply_PrecedesItsEvent) {
  for (int i = 0; i < 100; ++i) {
    const std::string node = probe().contend(parent_);
    // All three are on the way together: the event of the delete races with the reply.
    probe().send(i, probe().watch(i, node));
    probe().send(-1, rq::Delete{node});
  }
  ASSERT_TRUE(probe().journal().wait(100, Kind::watch));
  std::vector<bool> replied(100);
  for (const Event& event : probe().journal().events()) {
    if (event.tag < 0) continue;
    if (event.kind == Kind::reply) replied[static_cast<std::size_t>(event.tag)] = true;
    if (event.kind == Kind::watch) {
      EXPECT_TRUE(replied[static_cast<std::size_t>(event.tag)]);
    }
  }
}

TEST_F(ZkCoordinatorWatch, UnwatchOfLastWatcher_RemovesServerWatch) {
  const std::string node = probe().contend(parent_);
  const auto [first, reply1] = probe().call_with_id(probe().watch(1, node));
  const auto [second, reply2] = probe().call_with_id(probe().watch(2, node));
  ASSERT_EQ(reply2.status, Status::ok);
  probe()->unwatch(first);
  settle();
  EXPECT_TRUE(server_watches(node)) << "the second watch needs it";
  probe()->unwatch(second);
  settle();
  EXPECT_FALSE(server_watches(node));
  probe()->unwatch(second);
  ASSERT_EQ(probe().call(rq::Delete{node}).status, Status::ok);
  settle();
  EXPECT_EQ(probe().journal().count(Kind::watch), 0U);
}

TEST_F(ZkCoordinatorWatch, UnwatchBeforeReply_RemovesServerWatch) {
  const std::string node = probe().contend(parent_);
  for (int i = 0; i < 50; ++i) {
    const RequestId id = probe().send(i, probe().watch(i, node));
    probe()->unwatch(id);
  }
  ASSERT_TRUE(probe().journal().wait(50, Kind::reply));
  settle();
  EXPECT_FALSE(server_watches(node));
  // And one watch that stays, between two that are cancelled.
  const RequestId before = probe().send(100, probe().watch(100, node));
  probe().send(101, probe().watch(101, node));
  const RequestId after = probe().send(102, probe().watch(102, node));
  probe()->unwatch(before);
  probe()->unwatch(after);
  settle();
  EXPECT_TRUE(server_watches(node));
  ASSERT_EQ(probe().call(rq::Delete{node}).status, Status::ok);
  ASSERT_TRUE(probe().journal().wait(1, Kind::watch));
  settle();
  EXPECT_EQ(probe().journal().count(Kind::watch), 1U);
  EXPECT_EQ(probe().journal().last(Kind::watch).tag, 101);
}

TEST_F(ZkCoordinatorWatch, WatchOfMissingNode_LeavesNoServerWatch) {
  EXPECT_EQ(probe().call(probe().watch(1, parent_ + "/none")).status, Status::no_node);
  EXPECT_FALSE(server_watches(parent_ + "/none"));
}

TEST_F(ZkCoordinatorWatch, UnreadableNode_IsWatched) {
  RawClient raw(hosts());
  ACL nothing[] = {{ZOO_PERM_ADMIN, {const_cast<char*>("world"), const_cast<char*>("anyone")}}};
  const ACL_vector acl{1, nothing};
  const auto made = raw.create(parent_ + "/lock-", "theirs", ZOO_EPHEMERAL_SEQUENTIAL, acl);
  ASSERT_EQ(made.rc, ZOK);
  EXPECT_EQ(probe().call(rq::Get{made.path}).status, Status::no_auth);
  const Reply reply = probe().call(probe().watch(1, made.path));
  ASSERT_EQ(reply.status, Status::ok) << reply.detail;
  EXPECT_EQ(reply.data, "");
  // Servers since 3.8.4 and 3.9.2 refuse an exists of such a znode, so they send no stat.
  const bool has_stat = raw.exists(made.path).rc == ZOK;
  EXPECT_EQ(reply.is_without_stat(), !has_stat);
  EXPECT_EQ(reply.token.zxid, has_stat ? made.stat.czxid : 0);
  EXPECT_EQ(reply.ephemeral_owner.value, has_stat ? raw.session_id() : 0);
  EXPECT_EQ(raw.delete_node(made.path), ZOK);
  ASSERT_TRUE(probe().journal().wait(1, Kind::watch));
  EXPECT_EQ(probe().journal().last(Kind::watch).change, rq::WatchEvent::deleted);

  // The znode may be deleted between the two queries. The watch on a missing znode must not remain.
  for (int i = 0; i < 50; ++i) {
    const auto next = raw.create(parent_ + "/lock-", "theirs", ZOO_EPHEMERAL_SEQUENTIAL, acl);
    ASSERT_EQ(next.rc, ZOK);
    probe().send(1000 + i, probe().watch(1000 + i, next.path));
    probe().send(-1, rq::Delete{next.path});
  }
  ASSERT_TRUE(probe().journal().wait(100, Kind::reply));
  settle();
  settle();
  EXPECT_TRUE(eventually([&] {
    const auto answer = server_->four_letter_word("wchs");
    return answer && answer->find("Total watches:0") != std::string::npos;
  })) << *server_->four_letter_word("wchp");
  EXPECT_TRUE(raw.children(parent_).names.empty());
}

TEST_F(ZkCoordinatorWatch, WatchBytesOfSession_AreCapped) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 4; ++i) nodes.push_back(probe().contend(parent_));
  ClientOptions options = Probe::with(hosts());
  options.max_watch_bytes = 2 * nodes[0].size();
  Probe small(options);
  const auto [first, reply] = small.call_with_id(small.watch(0, nodes[0]));
  ASSERT_EQ(reply.status, Status::ok);
  EXPECT_EQ(small.call(small.watch(1, nodes[0])).status, Status::ok) << "counts once";
  EXPECT_EQ(small.call(small.watch(2, nodes[1])).status, Status::ok);
  EXPECT_EQ(small.call(small.watch(3, nodes[2])).status, Status::too_many_watches);
  EXPECT_FALSE(server_watches(nodes[2]));
  ASSERT_EQ(probe().call(rq::Delete{nodes[0]}).status, Status::ok);
  ASSERT_TRUE(small.journal().wait(2, Kind::watch));
  EXPECT_EQ(small.call(small.watch(4, nodes[2])).status, Status::ok) << "the event freed a place";
  EXPECT_EQ(small.call(small.watch(5, nodes[3])).status, Status::too_many_watches);
  EXPECT_EQ(small.call(small.watch(6, parent_ + "/none")).status, Status::too_many_watches);
}

TEST_F(ZkCoordinatorWatch, ListWatch_NotifiesChildrenOnceAndDeletion) {
  const std::string list = parent_ + "/list";
  ASSERT_EQ(probe().call(rq::CreateParents{list}).status, Status::ok);
  ASSERT_EQ(probe().call(probe().watch<rq::ListAndWatch>(1, list)).status, Status::ok);
  EXPECT_EQ(watch_count(), 1);
  const std::string child = probe().contend(list);
  probe().contend(list);
  ASSERT_TRUE(probe().journal().wait(1, Kind::watch));
  settle();
  ASSERT_EQ(watch_events().size(), 1U) << "once";
  EXPECT_EQ(watch_events()[0].change, rq::WatchEvent::children);
  EXPECT_EQ(watch_events()[0].session, probe().session());

  const Reply reply = probe().call(probe().watch<rq::ListAndWatch>(2, list));
  EXPECT_EQ(reply.children.size(), 2U);
  // Data of the children cause no event here.
  ASSERT_EQ(probe().call(rq::Transaction{child, {rq::write::Set{child, "new"}}}).status,
            Status::ok);
  settle();
  EXPECT_EQ(watch_events().size(), 1U);
  ASSERT_EQ(probe().call(rq::Delete{child}).status, Status::ok);
  ASSERT_TRUE(probe().journal().wait(2, Kind::watch));
  EXPECT_EQ(watch_events()[1].change, rq::WatchEvent::children);

  RawClient raw(hosts());
  ASSERT_EQ(raw.create(parent_ + "/empty").rc, ZOK);
  ASSERT_EQ(probe().call(probe().watch<rq::ListAndWatch>(3, parent_ + "/empty")).status,
            Status::ok);
  ASSERT_EQ(raw.delete_node(parent_ + "/empty"), ZOK);
  ASSERT_TRUE(probe().journal().wait(3, Kind::watch));
  EXPECT_EQ(watch_events()[2].change, rq::WatchEvent::deleted);
  EXPECT_EQ(probe().call(probe().watch<rq::ListAndWatch>(4, parent_ + "/empty")).status,
            Status::no_node);
  EXPECT_EQ(watch_count(), 0);
}

TEST_F(ZkCoordinatorWatch, ExistsWatch_CoversPresentAndMissingNodes) {
  RawClient raw(hosts());
  const std::string node = parent_ + "/node";
  const auto exists = [&](int tag) { return probe().watch<rq::ExistsAndWatch>(tag, node); };
  EXPECT_EQ(probe().call(exists(1)).status, Status::no_node);
  EXPECT_TRUE(server_watches(node));
  ASSERT_EQ(raw.create(node, "first").rc, ZOK);
  ASSERT_TRUE(probe().journal().wait(1, Kind::watch));
  EXPECT_EQ(watch_events()[0].change, rq::WatchEvent::created);

  const Reply there = probe().call(exists(2));
  EXPECT_EQ(there.status, Status::ok);
  EXPECT_EQ(there.token.zxid, raw.exists(node).stat.czxid);
  EXPECT_EQ(there.created_ms, raw.exists(node).stat.ctime);
  EXPECT_EQ(there.version, 0);
  EXPECT_EQ(there.child_count, 0);
  EXPECT_EQ(there.ephemeral_owner, SessionId{});
  EXPECT_EQ(there.data, "");
  ASSERT_EQ(raw.set_data(node, "second").rc, ZOK);
  ASSERT_TRUE(probe().journal().wait(2, Kind::watch));
  EXPECT_EQ(watch_events()[1].change, rq::WatchEvent::changed);

  ASSERT_EQ(raw.create(node + "/child").rc, ZOK);
  const Reply again = probe().call(exists(3));
  EXPECT_EQ(again.version, 1);
  EXPECT_EQ(again.child_count, 1);
  EXPECT_EQ(probe().call(rq::Get{node}).version, 1);
  ASSERT_EQ(raw.delete_node(node + "/child"), ZOK);
  settle();
  EXPECT_EQ(watch_events().size(), 2U) << "children are another matter";
  ASSERT_EQ(raw.delete_node(node), ZOK);
  ASSERT_TRUE(probe().journal().wait(3, Kind::watch));
  EXPECT_EQ(watch_events()[2].change, rq::WatchEvent::deleted);

  const auto [absent, reply] = probe().call_with_id(exists(4));
  ASSERT_EQ(reply.status, Status::no_node);
  probe()->unwatch(absent);
  settle();
  EXPECT_FALSE(server_watches(node));
}

TEST_F(ZkCoordinatorWatch, WatchKindsOfOnePath_AreRemovedSeparately) {
  RawClient raw(hosts());
  const std::string node = parent_ + "/both";
  ASSERT_EQ(raw.create(node).rc, ZOK);
  const auto [data, reply1] = probe().call_with_id(probe().watch(1, node));
  const auto [list, reply2] = probe().call_with_id(probe().watch<rq::ListAndWatch>(2, node));
  const auto [exists, reply3] = probe().call_with_id(probe().watch<rq::ExistsAndWatch>(3, node));
  ASSERT_EQ(reply3.status, Status::ok);
  EXPECT_EQ(watch_count(), 2);
  probe()->unwatch(list);
  settle();
  EXPECT_EQ(watch_count(), 1);
  EXPECT_TRUE(server_watches(node));
  ASSERT_EQ(probe().call(probe().watch<rq::ListAndWatch>(4, node)).status, Status::ok);
  probe()->unwatch(data);
  settle();
  EXPECT_EQ(watch_count(), 2) << "it is the other's too";
  probe()->unwatch(exists);
  settle();
  EXPECT_EQ(watch_count(), 1);
  EXPECT_FALSE(server_watches(node));
  ASSERT_EQ(probe().call(probe().watch(5, node)).status, Status::ok);
  ASSERT_EQ(raw.delete_node(node), ZOK);
  ASSERT_TRUE(probe().journal().wait(2, Kind::watch));
  settle();
  ASSERT_EQ(watch_events().size(), 2U);
  EXPECT_EQ(watch_events()[0].tag, 4);
  EXPECT_EQ(watch_events()[1].tag, 5);
  EXPECT_EQ(watch_events()[1].change, rq::WatchEvent::deleted);
  EXPECT_EQ(watch_count(), 0);
}

}  // namespace
}  // namespace zklock::client
