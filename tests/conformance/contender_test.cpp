// SPDX-License-Identifier: Apache-2.0
// Children of a lock path that zklock did not create: contenders are honoured, all others ignored.
#include <algorithm>
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class ForeignContender : public LockTest {
 protected:
  static inline const std::string kUuid = "8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e";

  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  // Creates a sequential child and returns its full path.
  std::string enqueue(const std::string& prefix) {
    static_cast<void>(raw().create(kPath));
    const auto made = raw().create(kPath + "/" + prefix, "10.0.0.1", ZOO_EPHEMERAL_SEQUENTIAL);
    EXPECT_EQ(made.rc, ZOK);
    return made.path;
  }
};

TEST_F(ForeignContender, ForeignContenderQueued_LaterContenderWaitsForIt) {
  Hold hold = mutex_.acquire();
  const std::string ours = nodes().at(0);
  const std::string foreign = enqueue("_c_" + kUuid + "-lock-");
  EXPECT_EQ(mutex_.participants().at(1).node, foreign.substr(kPath.size() + 1));
  // A Curator client would watch its predecessor, which is our znode.
  EXPECT_EQ(raw().exists(kPath + "/" + ours).rc, ZOK);
  auto behind = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  hold.release();
  ASSERT_TRUE(eventually([&] { return raw().exists(kPath + "/" + ours).rc == ZNONODE; }));
  EXPECT_FALSE(is_ready(behind));  // the foreign contender is ahead of it
  EXPECT_EQ(raw().delete_node(foreign), ZOK);
  EXPECT_TRUE(static_cast<bool>(get(behind)));
}

// A zklock znode announces its release by a data change. A znode that others may write announces
// nothing.
TEST_F(ForeignContender, DataOfAForeignZnodeChanges_GrantsNothing) {
  const TestServer* const server = SharedServer::server();
  if (server == nullptr) GTEST_SKIP() << "needs a server of this kit";
  for (const std::string prefix : {"lock-", "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-"}) {
    const std::string foreign = enqueue(prefix);
    auto waiting = mutex_.async_acquire();
    for (int round = 0; round < 3; ++round) {
      // The waiter sets its watch again after each change.
      ASSERT_TRUE(eventually([&] { return watched(*server, foreign); }, kTestTimeout));
      ASSERT_EQ(raw().set_data(foreign, "released").rc, ZOK);
    }
    ASSERT_TRUE(eventually([&] { return watched(*server, foreign); }, kTestTimeout));
    EXPECT_FALSE(is_ready(waiting));
    ASSERT_EQ(raw().delete_node(foreign), ZOK);
    EXPECT_TRUE(static_cast<bool>(get(waiting)));
    ASSERT_TRUE(becomes_empty());
  }
}

class Parent : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
};

TEST_F(Parent, MissingParent_IsCreatedAtEachUse) {
  ReentrantMutex mutex(*client_, "/a/b/c");
  EXPECT_EQ(raw().exists("/a").rc, ZNONODE);  // the constructor sends no request
  for (int round = 0; round < 3; ++round) {
    {
      const Hold hold = mutex.acquire({.deadline = kTestTimeout});
      EXPECT_EQ(hold.state(), HoldState::held);
    }
    ASSERT_TRUE(becomes_empty("/a/b/c"));
    ASSERT_EQ(raw().delete_recursive(round == 1 ? "/a" : "/a/b/c"), ZOK);
  }
}

// Many contenders find the parent missing at one time. One creates it, and all are enqueued.
TEST_F(Parent, MissingParentAndManyContenders_AllAreGranted) {
  const auto other = connect();
  std::vector<std::future<Hold>> all;
  ReentrantMutex mutex(*client_, "/x/y");
  ReentrantMutex others_mutex(*other, "/x/y");
  for (int i = 0; i < 10; ++i) {
    all.push_back(mutex.async_acquire());
    all.push_back(others_mutex.async_acquire());
  }
  std::size_t granted = 0;
  ASSERT_TRUE(eventually(
      [&] {
        for (auto& future : all) {
          if (future.valid() && is_ready(future)) granted += future.get() ? 1U : 0U;
        }
        return granted == all.size();
      },
      kTestTimeout));
  EXPECT_TRUE(becomes_empty("/x/y"));
}

// One lock path may lie below another. The two queues are independent.
TEST_F(Parent, ParentIsALockPath_QueuesAreIndependent) {
  ReentrantMutex upper(*client_, "/a");
  ReentrantMutex lower(*client_, "/a/b");
  const Hold below = lower.acquire({.deadline = kTestTimeout});
  const Hold above = upper.acquire({.deadline = kTestTimeout});
  EXPECT_EQ(below.state(), HoldState::held);
  EXPECT_EQ(above.state(), HoldState::held);
}

}  // namespace
}  // namespace zklock::testing
