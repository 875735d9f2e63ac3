// SPDX-License-Identifier: Apache-2.0
// Transactions, and the ACLs of the znodes that the coordinator creates.
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "support/raw_client.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"
#include "zklock/core/znode_data.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using testing::RawClient;
using testing::SharedServer;
using testing::TestChroot;
using Kind = Event::Kind;

class ZkCoordinatorTransaction : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(probe_.call(rq::CreateParents{"/p"}).status, Status::ok);
    own_ = probe_.contend("/p");
    ASSERT_EQ(raw_.create("/old", "1").rc, ZOK);
    ASSERT_EQ(raw_.create("/removed").rc, ZOK);
  }

  const TestChroot chroot_{SharedServer::hosts()};
  RawClient raw_{chroot_.hosts()};
  Probe probe_{chroot_.hosts()};
  std::string own_;
};

TEST_F(ZkCoordinatorTransaction, QuorumAnswers_AreReportedAsSuch) {
  const auto quorum_answers = [&] {
    return probe_.journal().count(
        [](const Event& event) { return event.kind == Kind::answered && event.flag; });
  };
  const auto before = quorum_answers();
  ASSERT_EQ(probe_.call(rq::Transaction{own_, {rq::write::Set{"/old", "2"}}}).status, Status::ok);
  EXPECT_EQ(quorum_answers(), before + 1);
  ASSERT_EQ(probe_.call(rq::Transaction{own_, {rq::write::Set{"/old", "2", 7}}}).status,
            Status::bad_version);
  EXPECT_EQ(quorum_answers(), before + 2);
  ASSERT_EQ(probe_.call(rq::Transaction{own_, {rq::write::Set{"/a//b", "2"}}}).status,
            Status::server_error);
  EXPECT_EQ(quorum_answers(), before + 2) << "never sent";
}

TEST_F(ZkCoordinatorTransaction, RemoveAndCreate_ReplaceContender) {
  const auto move = [this](const std::string& from) {
    return probe_.call(
        rq::Transaction{{},
                        {rq::write::Remove{from}, rq::write::Create{.path = "/p/lock-",
                                                                    .data = "moved",
                                                                    .ephemeral = true,
                                                                    .lock_acl = true,
                                                                    .sequential = true}}});
  };
  const auto acl = raw_.get_acl(own_).entries;
  const Reply moved = move(own_);
  ASSERT_EQ(moved.status, Status::ok) << moved.detail;
  EXPECT_EQ(moved.name, "lock-0000000001");
  EXPECT_EQ(raw_.children("/p").names, std::vector<std::string>{moved.name});
  const auto node = raw_.get_data("/p/" + moved.name);
  EXPECT_EQ(node.data, "moved");
  EXPECT_EQ(node.stat.ephemeralOwner, probe_.session().value);
  EXPECT_EQ(raw_.get_acl("/p/" + moved.name).entries, acl);
  EXPECT_EQ(probe_.call(rq::Exists{"/p/" + moved.name}).token.zxid, node.stat.czxid);
  const Reply again = move(own_);
  EXPECT_EQ(again.status, Status::no_node);
  EXPECT_EQ(again.name, "");
  EXPECT_EQ(raw_.children("/p").names, std::vector<std::string>{moved.name});
}

TEST_F(ZkCoordinatorTransaction, SequentialNodes_CountAgainstTheCap) {
  ClientOptions options = Probe::with(chroot_.hosts());
  options.max_node_bytes = (chroot_.path() + "/p/lock-0000000000").size();
  Probe small(options);
  std::string own = small.contend("/p");
  for (int i = 0; i < 5; ++i) {
    const Reply moved = small.call(rq::Transaction{
        {},
        {rq::write::Remove{own},
         rq::write::Create{.path = "/p/lock-", .ephemeral = true, .sequential = true}}});
    ASSERT_EQ(moved.status, Status::ok) << "the one before makes room";
    own = "/p/" + moved.name;
  }
  EXPECT_EQ(small.call(rq::CreateContender{"/p", "lock-", ""}).status, Status::too_many_nodes);
}

TEST_F(ZkCoordinatorTransaction, EphemeralNodes_CountAgainstTheCap) {
  ClientOptions options = Probe::with(chroot_.hosts());
  options.max_node_bytes = 3 * (chroot_.path() + "/p/lock-0000000000").size();
  Probe small(options);
  const auto two = [&](const char* first, const char* second) {
    return small
        .call(rq::Transaction{
            "/old", {rq::write::Create{first, "", true}, rq::write::Create{second, "", true}}})
        .status;
  };
  EXPECT_EQ(two("/p/a-0", "/p/b-0"), Status::ok);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(two("/p/a-1", "/p/b-1"), Status::too_many_nodes) << "the first fits, both do not";
    EXPECT_EQ(
        small.call(rq::Transaction{"/old", {rq::write::Create{"/none/a-1", "", true}}}).status,
        Status::no_node)
        << "what was not created does not count";
  }
  EXPECT_EQ(small.call(rq::Transaction{"/old", {rq::write::Create{"/p/keeps", "", false}}}).status,
            Status::ok)
      << "what is not ephemeral does not count";
  ASSERT_EQ(small.call(rq::Transaction{"/old", {rq::write::Remove{"/p/a-0"}}}).status, Status::ok);
  EXPECT_EQ(two("/p/a-1", "/p/b-1"), Status::ok);
  RawClient(chroot_.hosts()).delete_node("/p/b-0");
  EXPECT_EQ(small.call(rq::Transaction{"", {rq::write::Set{"/p/b-0", ""}}}).status,
            Status::no_node);
  EXPECT_EQ(small.call(rq::Transaction{"", {rq::write::Create{"/p/c-0", "", true}}}).status,
            Status::ok);
}

TEST(ZkCoordinatorAcl, CustomAcl_IsUsed) {
  const TestChroot chroot(SharedServer::hosts());
  RawClient raw(chroot.hosts());
  ClientOptions options = Probe::with(chroot.hosts());
  options.acl = AclPolicy::list({{AclEntry::all, "world", "anyone"}});
  Probe probe(options);
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  EXPECT_EQ(raw.set_data(probe.contend("/p"), "theirs").rc, ZOK);
  options.acl = AclPolicy::list({{AclEntry::all, "no-such-scheme", "x"}});
  Probe wrong(options);
  EXPECT_EQ(wrong.call(rq::CreateParents{"/p2"}).status, Status::invalid_acl);
}

// Some servers withhold the event. So the client checks each second whether the znode exists.
TEST(ZkCoordinatorAcl, UnreadableWhileCallsAreQueued_IsChecked) {
  const TestChroot chroot(SharedServer::hosts());
  RawClient raw(chroot.hosts());
  ACL nothing[] = {{ZOO_PERM_ADMIN, {const_cast<char*>("world"), const_cast<char*>("anyone")}}};
  ASSERT_EQ(raw.create("/p").rc, ZOK);
  const auto made = raw.create("/p/lock-", "x", ZOO_EPHEMERAL_SEQUENTIAL, {1, nothing});
  ASSERT_EQ(made.rc, ZOK);
  ClientOptions options = Probe::with(chroot.hosts());
  options.max_in_flight = 1;
  std::atomic<bool> ends{false};
  std::function<void(const Reply&)> send_next;
  Probe busy(options);
  send_next = [&](const Reply&) {
    if (!ends) busy->submit({rq::Get{"/p"}}, send_next);
  };
  ASSERT_EQ(busy.call(busy.watch(1, made.path)).status, Status::ok);
  for (int i = 0; i < 20; ++i) send_next({});
  const std::size_t exists = Operation(rq::Exists{}).index();
  EXPECT_TRUE(testing::eventually([&] { return busy->stats().requests.at(exists).count() >= 2; }));
  ends = true;
}

}  // namespace
}  // namespace zklock::client
