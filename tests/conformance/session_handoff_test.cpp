// SPDX-License-Identifier: Apache-2.0
// A contender queued directly behind a znode of its own client is granted at the release, without a
// request.
#include <future>
#include <memory>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class SessionHandoff : public OwnServerTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};

  /// Enqueues behind the only znode, and returns when the client knows that its own session owns
  /// it.
  std::future<Hold> wait() {
    const auto before = raw().children(kPath).names;
    auto own = mutex_.async_acquire({.owner = Owner::unique()});
    EXPECT_TRUE(eventually([&] { return watched(server_, kPath + "/" + before.at(0)); }));
    EXPECT_EQ(mutex_.participants().size(), 2U) << "this reply follows the earlier replies";
    return own;
  }
};

TEST_F(SessionHandoff, ServerIsPaused_NextContenderIsGranted) {
  Hold first = mutex_.acquire({.owner = Owner::unique()});
  const FencingToken token = first.token();
  auto own = wait();
  server_.pause();
  first.release();
  Hold second = get(own);
  EXPECT_GT(second.token().zxid, token.zxid);
  EXPECT_NE(second.state(), HoldState::lost);
  EXPECT_FALSE(client_->flush(std::chrono::milliseconds(1))) << "the first node is still there";
  server_.resume();
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_EQ(raw().children(kPath).names.size(), 1U);
  second.release();
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(raw().children(kPath).names.empty());
}

}  // namespace
}  // namespace zklock::testing
