// SPDX-License-Identifier: Apache-2.0
// Paths, ACLs and quotas that the library or the servers accept or refuse.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class Errors : public LockTest {};

TEST_F(Errors, UnusualPath_IsAccepted) {
  const auto client = connect();
  std::vector<Hold> holds;
  for (const std::string path : {"/a", "/a b", "/a.b/..c/...", "/zookeeper2", "/lock-0000000001",
                                 "/\xc3\xa4\xe2\x82\xac", "/a/%2e/%s%n"}) {
    ReentrantMutex mutex(*client, path);
    EXPECT_EQ(mutex.path(), path);
    holds.push_back(mutex.acquire({.deadline = kTestTimeout}));
    EXPECT_EQ(raw().exists(path).rc, ZOK);
  }
  // One lock path may lie below another. Their queues are independent.
  for (const Hold& hold : holds) EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_F(Errors, ExistingParents_AclIsUnchanged) {
  ASSERT_EQ(raw().create("/existing").rc, ZOK);
  const auto before = raw().get_acl("/existing");
  ClientOptions with_credential = options();
  with_credential.digest = DigestCredential{"orders", "right"};
  with_credential.acl = AclPolicy::creator_all();
  const auto owner = connect(with_credential);
  ReentrantMutex mutex(*owner, "/existing");
  ReentrantMutex below(*owner, "/existing/below");
  const Hold hold = mutex.acquire();
  const Hold deeper = below.acquire();
  const auto after = raw().get_acl("/existing");
  EXPECT_EQ(after.entries, before.entries);
  EXPECT_EQ(after.stat.aversion, before.stat.aversion);
  EXPECT_EQ(raw().get_data("/existing/below").rc, ZNOAUTH) << "that parent was created by zklock";
}

TEST_F(Errors, UnknownAclScheme_IsAnInvalidAcl) {
  ClientOptions with_list = options();
  with_list.acl = AclPolicy::list({{.permissions = 31, .scheme = "no-such-scheme", .id = "x"}});
  const auto client = connect(with_list);
  ReentrantMutex mutex(*client, kPath);
  EXPECT_EQ(error_of([&] { mutex.lock(); }), Errc::invalid_acl);
}

class Quota : public OwnServerTest {
 protected:
  static TestServerOptions enforcing() {
    TestServerOptions enforcing;
    enforcing.extra_jvm_flags = {"-Dzookeeper.enforceQuota=true"};
    return enforcing;
  }
  Quota() : OwnServerTest(enforcing()) {}
};

TEST_F(Quota, QuotaExceeded_LockFailsUntilTheQuotaIsRemoved) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  Hold hold = mutex.acquire();
  RawClient top(server_.hosts());
  std::string quota = "/zookeeper/quota";
  for (const std::string& part : {chroot_.path(), kPath}) {
    quota += part;
    ASSERT_EQ(top.create(quota).rc, ZOK);
  }
  ASSERT_EQ(top.create(quota + "/zookeeper_limits",
                       "count=-1,bytes=-1=;byteHardLimit=-1;"
                       "countHardLimit=2")
                .rc,
            ZOK);
  ASSERT_EQ(top.create(quota + "/zookeeper_stats", "count=2,bytes=0").rc, ZOK);

  const std::string text = error_text_of([&] { return mutex.acquire({.owner = Owner::unique()}); });
  EXPECT_EQ(text,
            "lock /lock: a quota of the servers does not permit the znode; see listquota "
            "[quota_exceeded]");
  EXPECT_EQ(hold.state(), HoldState::held);
  ASSERT_EQ(top.delete_recursive(quota), ZOK);
  hold.release();
  EXPECT_TRUE(static_cast<bool>(mutex.acquire({.deadline = kTestTimeout})));
}

}  // namespace
}  // namespace zklock::testing
