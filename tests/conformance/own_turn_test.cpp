// SPDX-License-Identifier: Apache-2.0
// Who locks a path again and again knows by the number that its node is the first: but not in
// another path of the same name.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class OwnTurn : public OwnServerTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  /// The name of the last node, which is gone.
  std::string lock_again_and_again() {
    std::string node;
    for (int i = 0; i < 20; ++i) {
      const Hold hold = mutex_.acquire();
      node = hold.node();
    }
    EXPECT_TRUE(client_->flush(kPatience));
    return node;
  }
};

TEST_F(OwnTurn, PathIsWatchedOnlyWhileItIsUsed) {
  lock_again_and_again();
  EXPECT_TRUE(watched(server_, kPath));
  EXPECT_TRUE(eventually([&] { return !watched(server_, kPath); }));
  for (int i = 0; i < 5; ++i) {
    const std::scoped_lock lock(mutex_);
    EXPECT_EQ(raw().children(kPath).names.size(), 1U);
  }
}

TEST_F(OwnTurn, AnotherPathOfTheSameNameIsAnother) {
  const std::string last = lock_again_and_again();
  const int number = std::stoi(last.substr(last.size() - 10));
  // Somebody else's mutex, with a path of its own, gets the name of that node, and so this client
  // the next number.
  ASSERT_EQ(raw().delete_recursive(kPath), ZOK);
  ASSERT_EQ(raw().create(kPath, "", ZOO_CONTAINER).rc, ZOK);
  for (int i = 0; i < number; ++i) {
    const auto child = raw().create(kPath + "/x-", "", ZOO_EPHEMERAL_SEQUENTIAL);
    ASSERT_EQ(raw().delete_node(child.path), ZOK);
  }
  const auto stranger = raw().create(kPath + "/lock-", "", ZOO_EPHEMERAL_SEQUENTIAL);
  EXPECT_EQ(stranger.path, last);
  auto own = mutex_.async_acquire(AcquireOptions{});
  EXPECT_TRUE(eventually([&] { return raw().children(kPath).names.size() == 2; }));
  EXPECT_TRUE(eventually([&] { return watched(server_, stranger.path); }));
  EXPECT_FALSE(is_ready(own));
  EXPECT_EQ(raw().delete_node(stranger.path), ZOK);
  EXPECT_EQ(get(own).state(), HoldState::held);
}

}  // namespace
}  // namespace zklock::testing
