// SPDX-License-Identifier: Apache-2.0
// A client that locks a path repeatedly knows from the sequence number that its znode is the first.
// It must not conclude that after the path was recreated.
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class SequenceHint : public OwnServerTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  /// Locks 20 times and returns the name of the last znode, which is deleted.
  std::string lock_again_and_again() {
    std::string node;
    for (int i = 0; i < 20; ++i) {
      const Hold hold = mutex_.acquire();
      node = hold.node();
    }
    EXPECT_TRUE(client_->flush(kTestTimeout));
    return node;
  }
  /// Recreates the path, and creates the znode `last` there on another client. The next znode of
  /// this client gets the following sequence number.
  void replace_path(const std::string& last, const ACL_vector& acl) {
    ASSERT_EQ(raw().delete_node(kPath), ZOK);
    ASSERT_EQ(raw().create(kPath, "", ZOO_CONTAINER, acl).rc, ZOK);
    const int number = std::stoi(last.substr(last.size() - 10));
    for (int i = 0; i < number; ++i) {
      const auto child = raw().create(kPath + "/x-", "", ZOO_EPHEMERAL_SEQUENTIAL);
      ASSERT_EQ(raw().delete_node(child.path), ZOK);
    }
    ASSERT_EQ(raw().create(kPath + "/lock-", "", ZOO_EPHEMERAL_SEQUENTIAL).path, last);
  }
  /// Contends while the stranger's znode is ahead, deletes that znode, and returns the future.
  std::future<Hold> wait_for(const std::string& stranger) {
    auto own = mutex_.async_acquire(AcquireOptions{});
    EXPECT_TRUE(eventually([&] { return watched(server_, stranger) || is_ready(own); }));
    EXPECT_FALSE(is_ready(own));
    EXPECT_EQ(raw().delete_node(stranger), ZOK);
    return own;
  }
};

TEST_F(SequenceHint, Path_IsWatchedOnlyWhileInUse) {
  EXPECT_TRUE(eventually([&] {
    lock_again_and_again();
    return watched(server_, kPath);
  }));
  EXPECT_TRUE(eventually([&] { return !watched(server_, kPath); }));
  for (int i = 0; i < 5; ++i) {
    const std::scoped_lock lock(mutex_);
    EXPECT_EQ(raw().children(kPath).names.size(), 1U);
  }
}

TEST_F(SequenceHint, PathRecreated_WaitsForNewPredecessor) {
  const std::string last = lock_again_and_again();
  // On a slow machine the client may have stopped relying on the sequence number. Then it reads the
  // queue, and the result is correct too.
  replace_path(last, ZOO_OPEN_ACL_UNSAFE);
  auto own = wait_for(last);
  EXPECT_EQ(get(own).state(), HoldState::held);
}

// The server sends no watch events of a path that the client may not read.
TEST_F(SequenceHint, UnreadablePath_IsListedAndThrowsNoAuth) {
  static char world[] = "world";
  static char anyone[] = "anyone";
  ACL entry{ZOO_PERM_ALL & ~ZOO_PERM_READ, {world, anyone}};
  const ACL_vector unreadable{1, &entry};
  ASSERT_EQ(raw().create(kPath, "", ZOO_CONTAINER, unreadable).rc, ZOK);
  if (raw().exists(kPath).rc == ZNOAUTH) {
    // Since 3.8.4 and 3.9.2, a client cannot even count the children of an unreadable path.
    EXPECT_EQ(error_of([this] { mutex_.lock(); }), Errc::no_auth);
    return;
  }
  const std::string last = lock_again_and_again();
  replace_path(last, unreadable);
  auto own = wait_for(last);
  EXPECT_EQ(error_of([&] { return get(own); }), Errc::no_auth) << "it may not list";
}

}  // namespace
}  // namespace zklock::testing
