// SPDX-License-Identifier: Apache-2.0
// Requests that are queued inside the client, and calls that end before their request is sent.
#include <memory>
#include <stop_token>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class InFlight : public LockTest {
 protected:
  static constexpr int kRounds = 200;

  ClientOptions one_at_a_time() const {
    ClientOptions one = options();
    one.max_in_flight = 1;
    return one;
  }
  const std::unique_ptr<Client> client_ = connect(one_at_a_time());
  ReentrantMutex mutex_{*client_, kPath};

  void nothing_is_left() {
    EXPECT_TRUE(client_->flush(kTestTimeout));
    EXPECT_TRUE(becomes_empty());
    EXPECT_EQ(mutex_.acquire({.deadline = kTestTimeout}).state(), HoldState::held);
    EXPECT_TRUE(becomes_empty());
  }
};

TEST_F(InFlight, StoppedAtOnce_LeavesNoZnode) {
  ASSERT_EQ(mutex_.acquire().state(), HoldState::held);  // the parent exists
  for (int round = 0; round < kRounds; ++round) {
    std::stop_source stop;
    auto waiting = mutex_.async_acquire(AcquireOptions{.stop = stop.get_token()});
    stop.request_stop();
    static_cast<void>(get(waiting));  // a Hold that is dropped, or an empty one
  }
  nothing_is_left();
}

TEST_F(InFlight, BurstOfStops_LeavesNoZnode) {
  std::vector<std::future<Hold>> waiting;
  for (int round = 0; round < kRounds; ++round) {
    std::stop_source stop;
    waiting.push_back(mutex_.async_acquire(AcquireOptions{.stop = stop.get_token()}));
    stop.request_stop();
  }
  for (auto& future : waiting) static_cast<void>(get(future));
  nothing_is_left();
}

}  // namespace
}  // namespace zklock::testing
