// SPDX-License-Identifier: Apache-2.0
// Refusals by the ensemble or the library: each has its typed error and a readable text.
#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Errors : public LockTest {};

TEST_F(Errors, InvalidPath_IsRefusedByTheConstructor) {
  const auto client = connect();
  for (const std::string& path : std::vector<std::string>{"",
                                                          "lock",
                                                          "lock/a",
                                                          "/",
                                                          "//",
                                                          "//a",
                                                          "/a//b",
                                                          "/a/",
                                                          "/.",
                                                          "/..",
                                                          "/a/.",
                                                          "/a/../b",
                                                          "/./a",
                                                          "/zookeeper",
                                                          "/zookeeper/quota/a",
                                                          "/a\nb",
                                                          "/a\tb",
                                                          "/a\x7f",
                                                          std::string("/a\0b", 4),
                                                          "/a\xc2\x85",
                                                          "/a\xff",
                                                          "/a\xc3",
                                                          "/a\xed\xa0\x80",
                                                          "/" + std::string(5000, 'a')}) {
    const std::string text = error_text_of([&] { return ReentrantMutex(*client, path).path(); });
    EXPECT_TRUE(has(text, "[invalid_path]")) << '"' << path << "\": " << text;
    for (const char c : text) EXPECT_FALSE(c >= 0 && c < ' ') << "control character in " << text;
    EXPECT_LT(text.size(), 500U);
  }
  EXPECT_TRUE(chroot_.is_empty());
}

TEST_F(Errors, UnusualPath_IsAccepted) {
  const auto client = connect();
  for (const std::string path : {"/a", "/a b", "/a.b/..c/...", "/zookeeper2", "/lock-0000000001",
                                 "/\xc3\xa4\xe2\x82\xac", "/a/%2e/%s%n"}) {
    ReentrantMutex mutex(*client, path);
    EXPECT_EQ(mutex.path(), path);
    EXPECT_EQ(mutex.acquire({.deadline = kTestTimeout}).state(), HoldState::held);
    EXPECT_EQ(raw().exists(path).rc, ZOK);
  }
}

TEST_F(Errors, ErrorText_NamesOperationPathAndCode) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  EXPECT_EQ(error_text_of([&] { mutex.unlock(); }),
            "unlock /lock: this thread does not hold the lock, and no other owner of this client "
            "does [not_owner]");
  try {
    mutex.unlock();
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), Errc::not_owner);
    EXPECT_STREQ(error.code().category().name(), "zklock");
    EXPECT_EQ(dynamic_cast<const Error&>(error).path(), kPath);
  }
  client->close();
  const std::string closed = error_text_of([&] { mutex.lock(); });
  EXPECT_EQ(closed.rfind("lock /lock: ", 0), 0U) << closed;
  EXPECT_TRUE(has(closed, "[closed]")) << closed;
  EXPECT_TRUE(
      has(error_text_of([&] { return mutex.participants(); }), "read the queue of /lock: "));
}

class Permissions : public LockTest {
 protected:
  std::unique_ptr<Client> connect_as(const std::string& user, const std::string& password,
                                     AclPolicy acl = AclPolicy::creator_all()) const {
    ClientOptions with_credential = options();
    with_credential.digest = DigestCredential{user, password};
    with_credential.acl = std::move(acl);
    return connect(with_credential);
  }
};

TEST_F(Permissions, AnotherPassword_LockFailsWithNoAuth) {
  const auto owner = connect_as("orders", "right");
  const auto colleague = connect_as("orders", "right");
  const auto stranger = connect_as("orders", "wrong");
  ReentrantMutex owners_mutex(*owner, kPath);
  Hold hold = owners_mutex.acquire();
  ReentrantMutex strangers_mutex(*stranger, kPath);
  const std::string text = error_text_of([&] { strangers_mutex.lock(); });
  EXPECT_EQ(text.rfind("lock /lock: ", 0), 0U) << text;
  EXPECT_TRUE(has(text, "[no_auth]")) << text;
  EXPECT_FALSE(has(text, "wrong")) << text;
  EXPECT_EQ(error_of([&] { return strangers_mutex.try_lock(); }), Errc::no_auth);
  EXPECT_EQ(error_of([&] { return strangers_mutex.participants(); }), Errc::no_auth);
  EXPECT_EQ(strangers_mutex.hold_count(), 0);

  // Two clients with one credential exclude each other; each is granted in turn.
  ReentrantMutex colleagues_mutex(*colleague, kPath);
  EXPECT_FALSE(colleagues_mutex.try_lock());
  EXPECT_EQ(colleagues_mutex.participants().size(), 1U);
  auto waiting = colleagues_mutex.async_acquire();
  hold.release();
  EXPECT_TRUE(static_cast<bool>(get(waiting)));

  // A client without the credential may not read, write or delete.
  const Hold again = owners_mutex.acquire({.deadline = kTestTimeout});
  EXPECT_EQ(raw().children(kPath).rc, ZNOAUTH);
  EXPECT_EQ(raw().get_data(again.node()).rc, ZNOAUTH);
  EXPECT_EQ(raw().set_data(again.node(), "released").rc, ZNOAUTH);
  EXPECT_EQ(raw().delete_node(again.node()), ZNOAUTH);
}

TEST_F(Permissions, ReadOnlyParent_LockFailsWithNoAuth) {
  ACL entry{ZOO_PERM_READ, {const_cast<char*>("world"), const_cast<char*>("anyone")}};
  ACL_vector read_only{1, &entry};
  ASSERT_EQ(raw().create(kPath, {}, 0, read_only).rc, ZOK);
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  EXPECT_EQ(error_of([&] { mutex.lock(); }), Errc::no_auth);
  ReentrantMutex below(*client, kPath + "/deeper/still");
  EXPECT_EQ(error_of([&] { below.lock(); }), Errc::no_auth);
  EXPECT_TRUE(mutex.participants().empty());  // READ is permitted
}

TEST_F(Permissions, ExistingParents_AclIsUnchanged) {
  ASSERT_EQ(raw().create("/existing").rc, ZOK);
  const auto before = raw().get_acl("/existing");
  const auto owner = connect_as("orders", "right");
  ReentrantMutex mutex(*owner, "/existing");
  ReentrantMutex below(*owner, "/existing/below");
  const Hold hold = mutex.acquire();
  const Hold deeper = below.acquire();
  const auto after = raw().get_acl("/existing");
  EXPECT_EQ(after.entries, before.entries);
  EXPECT_EQ(after.stat.aversion, before.stat.aversion);
  EXPECT_EQ(raw().get_data("/existing/below").rc, ZNOAUTH) << "that parent was created by zklock";
}

TEST_F(Permissions, UnknownAclScheme_IsAnInvalidAcl) {
  ClientOptions with_list = options();
  with_list.acl = AclPolicy::list({{.permissions = 31, .scheme = "no-such-scheme", .id = "x"}});
  const auto client = connect(with_list);
  ReentrantMutex mutex(*client, kPath);
  EXPECT_EQ(error_of([&] { mutex.lock(); }), Errc::invalid_acl);
}

class Caps : public LockTest {};

TEST_F(Caps, TooManyZnodes_IsAnErrorAndOtherHoldsRemain) {
  ClientOptions capped = options();
  capped.max_node_bytes = 200;
  const auto client = connect(capped);
  ReentrantMutex mutex(*client, kPath);
  std::vector<std::future<Hold>> waiting;
  std::vector<Hold> holds;
  std::optional<Errc> error;
  for (int i = 0; i < 200 && !error; ++i) {
    ReentrantMutex next(*client, kPath + std::to_string(i));
    error = error_of([&] { holds.push_back(next.acquire({.deadline = kTestTimeout})); });
  }
  EXPECT_EQ(error, Errc::too_many_nodes);
  EXPECT_FALSE(holds.empty());
  for (const Hold& hold : holds) EXPECT_EQ(hold.state(), HoldState::held);
  holds.clear();
  EXPECT_TRUE(client->flush(kTestTimeout));
  EXPECT_TRUE(static_cast<bool>(mutex.acquire({.deadline = kTestTimeout})));
}

TEST_F(Caps, TooManyWatches_IsAnErrorAndOtherWaitersAreGranted) {
  const auto other = connect();
  ClientOptions capped = options();
  capped.max_watch_bytes = 200;
  const auto client = connect(capped);
  std::vector<Hold> others;
  std::vector<std::future<Hold>> waiting;
  constexpr int kLocks = 30;
  for (int i = 0; i < kLocks; ++i) {
    others.push_back(ReentrantMutex(*other, kPath + std::to_string(i)).acquire());
  }
  std::vector<std::unique_ptr<ReentrantMutex>> mutexes;
  for (int i = 0; i < kLocks; ++i) {
    mutexes.push_back(std::make_unique<ReentrantMutex>(*client, kPath + std::to_string(i)));
    waiting.push_back(mutexes.back()->async_acquire());
  }
  const auto refused = [&] {
    return std::count_if(waiting.begin(), waiting.end(), [](const auto& f) { return is_ready(f); });
  };
  ASSERT_TRUE(eventually([&] { return refused() > 0; }, kTestTimeout));
  others.clear();
  int granted = 0;
  int too_many = 0;
  for (auto& future : waiting) {
    const auto error = error_of([&] { granted += get(future) ? 1 : 0; });
    if (error) {
      EXPECT_EQ(error, Errc::too_many_watches);
      ++too_many;
    }
  }
  EXPECT_GT(granted, 0);
  EXPECT_GT(too_many, 0);
  EXPECT_EQ(granted + too_many, kLocks);
  for (int i = 0; i < kLocks; ++i) EXPECT_TRUE(becomes_empty(kPath + std::to_string(i)));
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
