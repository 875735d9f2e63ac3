// SPDX-License-Identifier: Apache-2.0
// The ACLs of the znodes that the coordinator creates, and unreadable znodes.
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

TEST(ZkCoordinatorAcl, OpenPolicy_OthersCannotWriteNodes) {
  const TestChroot chroot(SharedServer::hosts());
  RawClient raw(chroot.hosts());
  Probe probe(chroot.hosts());
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const std::string node = probe.contend("/p", "mine");
  EXPECT_EQ(raw.get_data(node).data, "mine");
  EXPECT_EQ(raw.set_data(node, std::string(core::kReleasedData)).rc, ZNOAUTH);
  EXPECT_EQ(raw.children("/p").rc, ZOK);
  const auto acl = raw.get_acl("/p");
  EXPECT_EQ(acl.entries, (std::vector<testing::AclEntry>{{ZOO_PERM_ALL, "world", "anyone"}}));

  Probe other(chroot.hosts());
  EXPECT_EQ(other.call(rq::AnnounceAndDelete{node}).status, Status::no_auth)
      << "every client has a credential of its own";
  EXPECT_EQ(probe.call(rq::AnnounceAndDelete{node}).status, Status::ok);
}

TEST(ZkCoordinatorAcl, CreatorAll_ProtectsNodesAndParents) {
  const TestChroot chroot(SharedServer::hosts());
  RawClient raw(chroot.hosts());
  ClientOptions options = Probe::with(chroot.hosts());
  options.digest = DigestCredential{"team", "a secret"};
  options.acl = AclPolicy::creator_all();
  Probe probe(options);
  Probe colleague(options);
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const std::string node = probe.contend("/p", "mine");

  EXPECT_EQ(raw.get_data(node).rc, ZNOAUTH);
  EXPECT_EQ(raw.children("/p").rc, ZNOAUTH);
  EXPECT_EQ(raw.create("/p/lock-", "x", ZOO_EPHEMERAL_SEQUENTIAL).rc, ZNOAUTH);
  EXPECT_EQ(raw.delete_node(node), ZNOAUTH);

  EXPECT_EQ(colleague.call(rq::Get{node}).data, "mine");
  EXPECT_EQ(colleague.call(rq::ListChildren{"/p"}).children.size(), 1U);
  EXPECT_EQ(colleague.call(rq::AnnounceAndDelete{node}).status, Status::no_auth);
  EXPECT_EQ(colleague.call(rq::Delete{node}).status, Status::ok) << "checked on the parent";
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

TEST(ZkCoordinatorAcl, ParentWithoutCreatePermission_IsRefused) {
  const TestChroot chroot(SharedServer::hosts());
  RawClient raw(chroot.hosts());
  ACL read_only[] = {{ZOO_PERM_READ, {const_cast<char*>("world"), const_cast<char*>("anyone")}}};
  const ACL_vector acl{1, read_only};
  ASSERT_EQ(raw.create("/root").rc, ZOK);
  ASSERT_EQ(raw.create("/root/open").rc, ZOK);
  ASSERT_EQ(raw.create("/shut", {}, 0, ZOO_OPEN_ACL_UNSAFE).rc, ZOK);
  ASSERT_EQ(raw.create("/shut/below", {}, 0, ZOO_OPEN_ACL_UNSAFE).rc, ZOK);
  ASSERT_EQ(raw.create("/shut/none", {}, 0, acl).rc, ZOK);
  Probe probe(chroot.hosts());
  EXPECT_EQ(probe.call(rq::CreateParents{"/root/open/new"}).status, Status::ok);
  EXPECT_EQ(probe.call(rq::CreateParents{"/shut/none/new"}).status, Status::no_auth);
  EXPECT_EQ(probe.call(rq::CreateParents{"/shut/none/new/deep"}).status, Status::no_auth);
  EXPECT_EQ(probe.call(rq::CreateParents{"/shut/below"}).status, Status::ok);
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
