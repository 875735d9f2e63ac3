// SPDX-License-Identifier: Apache-2.0
#include "support/raw_client.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/host_list.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {
namespace {

using std::chrono::milliseconds;

TEST(HostList, EvenCount_RepeatsAnEntry) {
  EXPECT_EQ(with_odd_address_count("127.0.0.1:1"), "127.0.0.1:1");
  EXPECT_EQ(with_odd_address_count("127.0.0.1:1,127.0.0.1:2/a"),
            "127.0.0.1:1,127.0.0.1:2,127.0.0.1:2/a");
  EXPECT_EQ(with_odd_address_count("127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/a/b"),
            "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/a/b");
  EXPECT_EQ(with_odd_address_count(""), "");
}

TEST(RawClient, LargeAndBinaryData_IsReadUnchanged) {
  const TestChroot chroot(SharedServer::hosts());
  RawClient client(chroot.hosts());
  std::string data(100000, 'x');
  data[500] = '\0';
  ASSERT_EQ(client.create("/large", data).rc, ZOK);
  EXPECT_EQ(client.get_data("/large").data, data);
  ASSERT_EQ(client.create("/empty").rc, ZOK);
  EXPECT_EQ(client.get_data("/empty").data, "");
}

TEST(RawClient, ConnectFailure_Throws) {
  EXPECT_THROW(RawClient(""), ConnectError);
  RawClientOptions options;
  options.connect_timeout = milliseconds(50);
  EXPECT_THROW(RawClient("127.0.0.1:1", options), ConnectError);
}

TEST(TestChroot, TwoChroots_AreUniqueAndRemoved) {
  if (SharedServer::server() == nullptr) GTEST_SKIP() << "needs the super digest";
  const std::string hosts = SharedServer::hosts();
  RawClient root(hosts);
  std::string path;
  {
    const TestChroot chroot(hosts);
    const TestChroot second(hosts);
    path = chroot.path();
    EXPECT_NE(path, second.path());
    EXPECT_TRUE(chroot.is_empty());
    RawClient client(chroot.hosts());
    ASSERT_EQ(client.add_digest("me:secret"), ZOK);
    ASSERT_EQ(client.create("/a").rc, ZOK);
    ASSERT_EQ(client.create("/a/b", {}, 0, ZOO_CREATOR_ALL_ACL).rc, ZOK);
    ASSERT_EQ(client.create("/a/b/c", {}, 0, ZOO_CREATOR_ALL_ACL).rc, ZOK);
    EXPECT_FALSE(chroot.is_empty());
    EXPECT_NE(std::string(chroot.is_empty().message()).find(" a"), std::string::npos);
  }
  EXPECT_EQ(root.exists(path).rc, ZNONODE);
}

TEST(ExpireSession, SessionPassword_IsDerivedFromId) {
  for (int i = 0; i < 3; ++i) {
    const RawClient client(SharedServer::hosts());
    EXPECT_EQ(session_password(client.session_id()), client.session_password());
  }
}

TEST(ExpireSession, ExpireById_EndsSessionForItsOwner) {
  const TestChroot chroot(SharedServer::hosts());
  RawClient observer(chroot.hosts());
  for (int round = 0; round < 5; ++round) {
    RawClient owner(chroot.hosts());
    ASSERT_EQ(owner.create("/mine", {}, ZOO_EPHEMERAL).rc, ZOK);
    expire_session(SharedServer::hosts(), owner.session_id());
    EXPECT_EQ(observer.exists("/mine").rc, ZNONODE);
    EXPECT_TRUE(eventually([&] { return owner.state() == ZOO_EXPIRED_SESSION_STATE; }));
    EXPECT_NE(owner.exists("/").rc, ZOK);
  }
}

TEST(ExpireSession, UnknownSessionOrWrongPassword_Throws) {
  const std::string hosts = SharedServer::hosts();
  RawClient owner(hosts);
  std::array<char, 16> wrong = owner.session_password();
  wrong[3] = static_cast<char>(wrong[3] ^ 1);
  EXPECT_THROW(expire_session(hosts, owner.session_id(), wrong), UnknownSession);
  // The server closes the owner's connection before it checks the password.
  EXPECT_TRUE(eventually([&] { return owner.exists("/").rc == ZOK; }))
      << "a wrong password must not touch the session";
  expire_session(hosts, owner.session_id(), owner.session_password());
  EXPECT_THROW(expire_session(hosts, owner.session_id()), UnknownSession);
  EXPECT_THROW(expire_session("127.0.0.1:1", owner.session_id()), std::runtime_error);
}

}  // namespace
}  // namespace zklock::testing
