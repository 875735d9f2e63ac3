// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/log_throttle.h"

#include <chrono>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

class LogThrottleTest : public ::testing::Test {
 protected:
  /// Returns how many of `count` lines are written now.
  int written(int count) {
    int all = 0;
    for (int i = 0; i < count; ++i) all += throttle_.on_line(now_) ? 1 : 0;
    return all;
  }

  Instant now_ = Instant(1h);
  LogThrottle throttle_;
};

TEST_F(LogThrottleTest, ManyLines_TenAtOnceThenOneASecond) {
  EXPECT_EQ(written(10'000), 10);
  now_ += 1s - 1ns;
  EXPECT_EQ(written(10), 0);
  now_ += 1ns;
  EXPECT_EQ(written(10), 1);
  now_ += 3s;
  EXPECT_EQ(written(10), 3);
}

TEST_F(LogThrottleTest, TenSecondsWithoutALine_TenAtOnceAgain) {
  EXPECT_EQ(written(20), 10);
  now_ += 10s;
  EXPECT_EQ(written(20), 10);
  now_ += 1h;
  EXPECT_EQ(written(20), 10) << "not more";
}

TEST_F(LogThrottleTest, OmittedLines_AreCountedOnce) {
  EXPECT_EQ(written(25), 10);
  EXPECT_EQ(throttle_.take_suppressed(), 15U);
  EXPECT_EQ(throttle_.take_suppressed(), 0U);
}

TEST_F(LogThrottleTest, Next_IsTheTimeOfTheNextLine) {
  EXPECT_LE(throttle_.next(), now_);
  EXPECT_EQ(written(11), 10);
  EXPECT_EQ(throttle_.next(), now_ + 1s);
  now_ = throttle_.next();
  EXPECT_EQ(written(2), 1);
}

}  // namespace
}  // namespace zklock::core
