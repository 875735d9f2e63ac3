// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "support/raw_client.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"

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

TEST_F(ZkCoordinatorTransaction, AllWritesValid_CommitsAtomically) {
  const Reply reply = probe_.call(
      rq::Transaction{own_,
                      {rq::write::Create{"/new", "n"}, rq::write::Create{"/new/mine", "", true},
                       rq::write::Set{"/old", "2", 0}, rq::write::CheckVersion{"/old", 1},
                       rq::write::Remove{"/removed", 0}}});
  ASSERT_EQ(reply.status, Status::ok) << reply.detail;
  EXPECT_EQ(reply.failed_operation, -1);
  EXPECT_EQ(reply.session, probe_.session());
  const auto created = raw_.get_data("/new");
  EXPECT_EQ(created.data, "n");
  EXPECT_EQ(created.stat.ephemeralOwner, 0);
  const auto set = raw_.get_data("/old");
  EXPECT_EQ(set.data, "2");
  EXPECT_EQ(set.stat.mzxid, created.stat.czxid) << "one change";
  EXPECT_EQ(raw_.exists("/new/mine").stat.ephemeralOwner, probe_.session().value);
  EXPECT_EQ(raw_.exists("/removed").rc, ZNONODE);
  EXPECT_EQ(probe_.call(rq::Transaction{own_, {}}).status, Status::ok) << "a guard alone";
  EXPECT_EQ(probe_.call(rq::Transaction{"", {rq::write::Set{"/old", ""}}}).status, Status::ok);
  EXPECT_EQ(raw_.get_data("/old").data, "");
}

TEST_F(ZkCoordinatorTransaction, OneWriteFails_ChangesNothingAndNamesIt) {
  const std::vector<std::pair<rq::Write, Status>> failing = {
      {rq::write::Create{"/old"}, Status::node_exists},
      {rq::write::Create{"/none/x"}, Status::no_node},
      {rq::write::Create{own_ + "/x"}, Status::server_error},  // ephemeral znodes have no children
      {rq::write::Set{"/old", "3", 7}, Status::bad_version},
      {rq::write::Set{"/none", ""}, Status::no_node},
      {rq::write::Remove{"/p"}, Status::not_empty},
      {rq::write::Remove{"/old", 0}, Status::bad_version},  // the operation before makes it 1
      {rq::write::CheckVersion{"/old", 0}, Status::bad_version},
      {rq::write::CheckVersion{"/none"}, Status::no_node},
  };
  for (const auto& [write, status] : failing) {
    for (const std::string& guard : {own_, std::string()}) {
      const Reply reply = probe_.call(
          rq::Transaction{guard,
                          {rq::write::Create{"/p/mine", "", true}, rq::write::Set{"/old", "2"},
                           write, rq::write::Remove{"/removed"}}});
      EXPECT_EQ(reply.status, status) << reply.detail;
      EXPECT_EQ(reply.failed_operation, guard.empty() ? 2 : 3);
    }
  }
  const Reply unguarded = probe_.call(rq::Transaction{"/p/removed", {rq::write::Set{"/none", ""}}});
  EXPECT_EQ(unguarded.status, Status::no_node);
  EXPECT_EQ(unguarded.failed_operation, 0);
  EXPECT_EQ(raw_.get_data("/old").data, "1");
  EXPECT_EQ(raw_.get_data("/old").stat.version, 0);
  EXPECT_EQ(raw_.exists("/removed").rc, ZOK);
  EXPECT_EQ(raw_.children("/p").names.size(), 1U);
}

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

TEST_F(ZkCoordinatorTransaction, UnusablePath_IsNotSent) {
  for (const char* path : {"/a//b", "/a/", "/a/../b", "/a\x01"}) {
    const std::vector<rq::Write> writes = {rq::write::Create{path}, rq::write::Set{path},
                                           rq::write::Remove{path}, rq::write::CheckVersion{path}};
    for (const rq::Write& write : writes) {
      const Reply reply = probe_.call(rq::Transaction{own_, {rq::write::Set{"/old", "2"}, write}});
      EXPECT_EQ(reply.status, Status::server_error) << path;
      EXPECT_EQ(reply.session, SessionId{}) << path;
      EXPECT_EQ(reply.failed_operation, -1) << path;
    }
  }
  EXPECT_EQ(probe_.call(rq::Transaction{}).status, Status::server_error);
  EXPECT_EQ(probe_.call(rq::Transaction{"/a//b", {}}).status, Status::server_error);
  EXPECT_EQ(raw_.get_data("/old").data, "1");
}

TEST_F(ZkCoordinatorTransaction, CreatedNodes_HaveTheAclOfParents) {
  ClientOptions options = Probe::with(chroot_.hosts());
  options.digest = DigestCredential{"team", "a secret"};
  options.acl = AclPolicy::creator_all();
  Probe team(options);
  ASSERT_EQ(team.call(rq::CreateParents{"/parent"}).status, Status::ok);
  ASSERT_EQ(team.call(rq::Transaction{"/old", {rq::write::Create{"/data", "x"}}}).status,
            Status::ok);
  EXPECT_EQ(raw_.get_data("/data").rc, ZNOAUTH);
  raw_.add_digest("team:a secret");
  EXPECT_EQ(raw_.get_acl("/data").entries, raw_.get_acl("/parent").entries);
  EXPECT_EQ(probe_.call(rq::Transaction{"/old", {rq::write::Set{"/data", ""}}}).status,
            Status::no_auth);
  ASSERT_EQ(probe_.call(rq::Transaction{"/old", {rq::write::Create{"/open", "x"}}}).status,
            Status::ok);
  EXPECT_EQ(raw_.get_acl("/open").entries, raw_.get_acl("/p").entries);
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

TEST_F(ZkCoordinatorTransaction, OptionalNodes_LeaveHalfOfTheCap) {
  ClientOptions options = Probe::with(chroot_.hosts());
  options.max_node_bytes = 4 * (chroot_.path() + "/p/lock-0000000000").size();
  Probe small(options);
  const auto make = [&](const char* path, bool leaves_room) {
    const rq::write::Create create{.path = path, .ephemeral = true, .leaves_room = leaves_room};
    return small.call(rq::Transaction{"/old", {create}}).status;
  };
  EXPECT_EQ(make("/p/mark1", true), Status::ok);
  EXPECT_EQ(make("/p/mark2", true), Status::ok);
  EXPECT_EQ(make("/p/mark3", true), Status::too_many_nodes);
  EXPECT_EQ(make("/p/lock3", false), Status::ok);
  EXPECT_EQ(make("/p/lock4", false), Status::ok);
  EXPECT_EQ(make("/p/lock5", false), Status::too_many_nodes);
}

}  // namespace
}  // namespace zklock::client
