// SPDX-License-Identifier: Apache-2.0
// A stop token ends the waiting and nothing else.
#include <future>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class Stop : public LockTest {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  ReentrantMutex mutex_{*client_, kPath};
  std::stop_source stop_;
};

TEST_F(Stop, StopBeforeCall_SendsNothing) {
  stop_.request_stop();
  EXPECT_FALSE(mutex_.lock(stop_.get_token()));
  EXPECT_FALSE(static_cast<bool>(mutex_.acquire({.stop = stop_.get_token()})));
  EXPECT_EQ(mutex_.hold_count(), 0);
  EXPECT_EQ(raw().exists(kPath).rc, ZNONODE);
}

TEST_F(Stop, StopWhileWaiting_LeavesQueue) {
  const auto other = connect();
  ReentrantMutex others_mutex(*other, kPath);
  const Hold others_hold = others_mutex.acquire();
  auto locking = in_thread([this] { return mutex_.lock(stop_.get_token()); });
  ASSERT_TRUE(reaches_nodes(2));
  auto acquiring = in_thread([this] { return mutex_.acquire({.stop = stop_.get_token()}); });
  ASSERT_TRUE(reaches_nodes(3));
  stop_.request_stop();
  EXPECT_FALSE(get(locking));
  EXPECT_FALSE(static_cast<bool>(get(acquiring)));
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_EQ(others_hold.state(), HoldState::held);
}

TEST_F(Stop, StopByJthread_EndsWaiting) {
  const auto other = connect();
  ReentrantMutex others_mutex(*other, kPath);
  const Hold others_hold = others_mutex.acquire();
  std::promise<bool> granted;
  auto result = granted.get_future();
  {
    const std::jthread worker(
        [&](const std::stop_token& stop) { granted.set_value(mutex_.lock(stop)); });
    ASSERT_TRUE(reaches_nodes(2));
  }
  EXPECT_FALSE(get(result));
  EXPECT_TRUE(reaches_nodes(1));
}

}  // namespace
}  // namespace zklock::testing
