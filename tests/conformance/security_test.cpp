// SPDX-License-Identifier: Apache-2.0
// Attacks on a lock by a stranger on the network, failed and successful ones: see
// zklock/guides/production.md, "Security".

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/super_digest.h"

namespace zklock::testing {
namespace {

const std::string kTop = "/guarded";

// Returns the path and all paths below it.
std::vector<std::string> tree(RawClient& client, const std::string& path) {
  std::vector<std::string> all{path};
  for (const std::string& name : client.children(path).names) {
    for (std::string& below : tree(client, (path == "/" ? "" : path) + "/" + name)) {
      all.push_back(std::move(below));
    }
  }
  return all;
}

bool has_name(const std::vector<std::string>& paths, std::string_view part) {
  return std::ranges::any_of(paths, [&](const std::string& path) {
    return path.find(part, path.rfind('/')) != std::string::npos;
  });
}

class Security : public LockTest {
 protected:
  ClientOptions credential(const std::string& password,
                           AclPolicy acl = AclPolicy::creator_all()) const {
    ClientOptions with = options();
    with.digest = DigestCredential{"orders", password};
    with.acl = std::move(acl);
    return with;
  }
  RawClient raw_with(const std::string& digest) const {
    RawClient client(chroot_.hosts());
    const int added = digest.empty() ? ZOK : client.add_digest(digest);
    EXPECT_EQ(added, ZOK);
    return client;
  }
  std::vector<std::string> everything() {
    RawClient super = raw_with(std::string(kSuperDigest));
    return tree(super, "/");
  }
};

// A znode of every kind that zklock creates, as a stranger sees it.
class CreatorAll : public Security {
 protected:
  static constexpr std::string_view kKinds[] = {"lock-",    "delay-",      "__READ__",
                                                "__WRIT__", "permits-",    "count",
                                                "weight-",  "proclaimed-", "release-request-"};

  CreatorAll() {
    hold_ = mutex_.acquire();
    writer_.emplace(shared_.acquire());
    reading_ = shared_.async_acquire_shared();
    permit_ = semaphore_.acquire();
    first_ = priority_.acquire();
    behind_ = priority_.async_acquire();
    latch_.start();
    EXPECT_TRUE(latch_.wait_until_leader(kTestTimeout));
    latch_.leadership().proclaim("10.1.2.3:80");
    acquiring_ = in_thread(
        [this] { return request_release(*owner_, kTop + "/mutex", {.deadline = kTestTimeout}); });
    const auto complete = [this] {
      nodes_ = tree(colleague_, kTop);
      return std::ranges::all_of(kKinds, [&](auto kind) { return has_name(nodes_, kind); });
    };
    EXPECT_TRUE(eventually(complete, kTestTimeout)) << ::testing::PrintToString(nodes_);
  }
  ~CreatorAll() override {
    hold_.release();
    EXPECT_TRUE(get(acquiring_));
    writer_.reset();
    EXPECT_TRUE(static_cast<bool>(get(reading_)));
    first_.release();
    EXPECT_TRUE(static_cast<bool>(get(behind_)));
  }

  bool all_is_held() {
    return hold_.state() == HoldState::held && writer_->state() == HoldState::held &&
           permit_.state() == HoldState::held && first_.state() == HoldState::held &&
           latch_.has_leadership();
  }

  const std::unique_ptr<Client> owner_ = connect(credential("right"));
  RawClient colleague_ = raw_with("orders:right");
  ReentrantMutex mutex_{*owner_, kTop + "/mutex", {.lock_delay = 1s}};
  SharedMutex shared_{*owner_, kTop + "/deeper/shared"};
  Semaphore semaphore_{*owner_, kTop + "/semaphore", SharedCount{3}};
  PriorityMutex priority_{*owner_, kTop + "/priority"};
  LeaderLatch latch_{*owner_, kTop + "/leader"};
  Hold hold_;
  std::optional<Hold> writer_;
  std::future<Hold> reading_;
  Permit permit_;
  Hold first_;
  std::future<Hold> behind_;
  std::future<bool> acquiring_;
  std::vector<std::string> nodes_;
};

TEST_F(CreatorAll, OtherCredential_HasNoAccessToNodesOrParents) {
  for (const std::string digest : {"", "orders:wrong", "intruder:right"}) {
    RawClient stranger = raw_with(digest);
    for (const std::string& path : nodes_) {
      SCOPED_TRACE(path + " as \"" + digest + "\"");
      EXPECT_EQ(stranger.children(path).rc, ZNOAUTH);
      EXPECT_EQ(stranger.get_data(path).rc, ZNOAUTH);
      EXPECT_EQ(stranger.get_acl(path).rc, ZNOAUTH);
      EXPECT_EQ(stranger.set_data(path, "released").rc, ZNOAUTH);
      EXPECT_NE(stranger.create(path + "/below").rc, ZOK);
      // The parent of the topmost path belongs to another user, and everyone may delete in it.
      EXPECT_EQ(stranger.delete_node(path), path == kTop ? ZNOTEMPTY : ZNOAUTH);
    }
    EXPECT_EQ(stranger.create(kTop + "/mutex/lock-", "", ZOO_EPHEMERAL_SEQUENTIAL).rc, ZNOAUTH);
  }
  EXPECT_EQ(tree(colleague_, kTop), nodes_);
  EXPECT_TRUE(all_is_held());
  // A client with the credential may read everything and write parents, but no lock znode of
  // another client.
  EXPECT_EQ(colleague_.get_data(hold_.node()).rc, ZOK);
  EXPECT_EQ(colleague_.set_data(hold_.node(), "released").rc, ZNOAUTH);
}

TEST_F(CreatorAll, AnyClient_CanExpireSession) {
  RawClient stranger = raw_with("");
  const StatReply seen = stranger.exists(hold_.node());
  // From 3.8.4 and 3.9.2 on, servers require READ for an exists. But the ids of sessions are
  // consecutive, so a stranger can try them.
  ASSERT_TRUE(seen.rc == ZOK || seen.rc == ZNOAUTH) << seen.rc;
  if (seen.rc == ZOK) {
    EXPECT_EQ(seen.stat.ephemeralOwner, owner_->session_id());
  }
  expire_session(chroot_.hosts(), owner_->session_id());
  EXPECT_TRUE(eventually([&] { return hold_.state() == HoldState::lost; }, kTestTimeout));
}

TEST_F(CreatorAll, WrongSecret_EveryCallThrowsAndCreatesNoNode) {
  const auto before = everything();
  for (const AclPolicy& acl : {AclPolicy::creator_all(), AclPolicy::open()}) {
    const auto stranger = connect(credential("wrong", acl));
    // A refused call throws at once: it is not retried until the deadline.
    const auto refused = [](auto call) {
      if (HasFailure()) return;
      EXPECT_EQ(error_of(call), Errc::no_auth);
    };
    const AcquireOptions soon{.deadline = kTestTimeout};
    ReentrantMutex mutex(*stranger, kTop + "/mutex");
    refused([&] { return mutex.acquire(soon); });
    refused([&] { return mutex.try_lock(); });
    refused([&] { return mutex.try_lock_for(kTestTimeout); });
    refused([&] {
      auto future = mutex.async_acquire(soon);
      return get(future);
    });
    refused([&] { return mutex.participants(); });
    Mutex plain(*stranger, kTop + "/mutex");
    refused([&] { return plain.try_lock_for(kTestTimeout); });
    SharedMutex shared(*stranger, kTop + "/deeper/shared");
    refused([&] { return shared.try_lock_for(kTestTimeout); });
    refused([&] { return shared.try_lock_shared_for(kTestTimeout); });
    Semaphore semaphore(*stranger, kTop + "/semaphore", SharedCount{9});
    refused([&] { return semaphore.acquire(soon); });
    refused([&] { return semaphore.permits(); });
    refused([&] { semaphore.set_permits(9); });
    refused([&] { return semaphore.add_permits(9); });
    PriorityMutex priority(*stranger, kTop + "/priority");
    refused([&] { return priority.acquire(soon); });
    MultiMutex multi(*stranger, {kTop + "/mutex", kTop + "/another"});
    refused([&] { return multi.acquire(soon); });
    refused([&] { return with_lock(*stranger, kTop + "/new/path", soon, [] {}); });
    refused(
        [&] { return request_release(*stranger, kTop + "/mutex", {.deadline = kTestTimeout}); });
    refused([&] { return LockObserver(*stranger, kTop + "/mutex").state(); });
    refused([&] { return ElectionObserver(*stranger, kTop + "/leader").state(); });
    LeaderLatch latch(*stranger, kTop + "/leader");
    latch.start();
    refused([&] { return latch.wait_until_leader(kTestTimeout); });
    LeaderElection election(*stranger, kTop + "/leader", [](Leadership&) { ADD_FAILURE(); });
    election.start();
    ASSERT_TRUE(eventually([&] { return election.error().has_value(); }, kTestTimeout));
    EXPECT_EQ(election.error()->errc(), Errc::no_auth);
  }
  EXPECT_EQ(everything(), before);
  EXPECT_TRUE(all_is_held());
}

TEST_F(Security, CreatorAll_NoNodeIsOpenToWorld) {
  // The first client owns the path, even with the wrong secret. The second client is the stranger
  // then.
  const auto first = connect(credential("wrong"));
  const Hold hold = ReentrantMutex(*first, kTop + "/a/b", {.lock_delay = 1s}).acquire();
  Semaphore semaphore(*first, kTop + "/a/c", SharedCount{2});
  const Permit permit = semaphore.acquire();
  const auto second = connect(credential("right"));
  EXPECT_EQ(error_of([&] { return ReentrantMutex(*second, kTop + "/a/b").try_lock(); }),
            Errc::no_auth);

  RawClient super = raw_with(std::string(kSuperDigest));
  const auto nodes = tree(super, kTop);
  EXPECT_TRUE(has_name(nodes, "delay-"));
  EXPECT_TRUE(has_name(nodes, "count"));
  for (const std::string& path : nodes) {
    const AclReply acl = super.get_acl(path);
    EXPECT_FALSE(acl.entries.empty());
    for (const testing::AclEntry& entry : acl.entries) EXPECT_EQ(entry.scheme, "digest") << path;
  }
}

// On an open path, contenders with different credentials may not read each other's znodes.
TEST_F(Security, DifferentCredentials_AreGrantedInTurn) {
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  const auto first = connect(credential("right"));
  const auto second = connect(credential("another"));
  const auto third = connect();
  ReentrantMutex second_mutex(*second, kPath);
  ReentrantMutex third_mutex(*third, kPath);
  Hold hold = ReentrantMutex(*first, kPath).acquire();
  EXPECT_EQ(raw().get_data(hold.node()).rc, ZNOAUTH);
  auto waiting = second_mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  auto behind = third_mutex.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  hold.release();
  Hold next = get(waiting);
  EXPECT_TRUE(next);
  EXPECT_FALSE(is_ready(behind));
  next.release();
  EXPECT_TRUE(get(behind));
}

// A server without the digest scheme refuses the credential that every client adds.
class RefusedCredential : public OwnServerTest {
 protected:
  RefusedCredential()
      : OwnServerTest(
            {.extra_jvm_flags = {"-Dzookeeper.DigestAuthenticationProvider.enabled=false"}}) {}
};

TEST_F(RefusedCredential, EveryCall_ThrowsAndCreatesNoNode) {
  for (const AclPolicy& acl : {AclPolicy::creator_all(), AclPolicy::open()}) {
    ClientOptions with = options();
    with.digest = DigestCredential{"orders", "right"};
    with.acl = acl;
    Client client(with);
    ReentrantMutex mutex(client, kPath);
    EXPECT_EQ(error_text_of([&] { mutex.lock(); }),
              "lock /lock: the servers refused the credential digest:orders [auth_failed]");
    EXPECT_EQ(error_of([&] { return client.wait_until_connected(kTestTimeout); }),
              Errc::auth_failed);
    EXPECT_EQ(error_of([&] { return mutex.try_lock(); }), Errc::auth_failed);
    EXPECT_EQ(error_of([&] { return Semaphore(client, kPath, 2).acquire(); }), Errc::auth_failed);
    LeaderLatch latch(client, kPath);
    latch.start();
    EXPECT_EQ(error_of([&] { return latch.wait_until_leader(kTestTimeout); }), Errc::auth_failed);
  }
  EXPECT_EQ(raw().exists(kPath).rc, ZNONODE);
  EXPECT_TRUE(nodes("/").empty());
}

}  // namespace
}  // namespace zklock::testing
