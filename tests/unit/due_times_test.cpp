// SPDX-License-Identifier: Apache-2.0
// When something is due: the end of a hold, a line of the log, and the description of a long wait.
#include <chrono>
#include <optional>

#include <gtest/gtest.h>

#include "zklock/core/hold_limit.h"
#include "zklock/core/log_throttle.h"
#include "zklock/core/slow_wait.h"

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart(100s);

TEST(HoldLimit, Warning_PrecedesTheEnd) {
  struct Case {
    HoldLimit limit;
    Instant warning;
    Instant end;
  };
  const Case cases[] = {
      {{}, Instant::max(), Instant::max()},
      {{.notice = 1s}, Instant::max(), Instant::max()},
      {{.longest = Duration::max()}, Instant::max(), Instant::max()},
      {{.longest = 8s}, kStart + 6s, kStart + 8s},  // a quarter before the end
      {{.longest = 8s, .notice = 1s}, kStart + 7s, kStart + 8s},
      {{.longest = 8s, .notice = 8s}, kStart, kStart + 8s},
      {{.longest = 8s, .notice = Duration::max()}, kStart, kStart + 8s},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(each.limit.warning(kStart), each.warning);
    EXPECT_EQ(each.limit.end(kStart), each.end);
  }
}

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

TEST_F(LogThrottleTest, Next_IsTheTimeOfTheNextLine) {
  EXPECT_LE(throttle_.next(), now_);
  EXPECT_EQ(written(11), 10);
  EXPECT_EQ(throttle_.next(), now_ + 1s);
  now_ = throttle_.next();
  EXPECT_EQ(written(2), 1);
}

TEST_F(LogThrottleTest, OmittedLines_AreCountedOnce) {
  EXPECT_EQ(written(25), 10);
  EXPECT_EQ(throttle_.take_suppressed(), 15U);
  EXPECT_EQ(throttle_.take_suppressed(), 0U);
}

TEST(SlowWait, FirstLookComesLate_NextLimitIsAboveTheWait) {
  SlowWait wait;
  EXPECT_TRUE(wait.is_due(150s));
  EXPECT_TRUE(wait.is_due(150s)) << "until it is described";
  wait.on_described(150s);
  EXPECT_FALSE(wait.is_due(999s));
  EXPECT_TRUE(wait.is_due(1000s));
}

TEST(SlowWait, NoContenderWaits_BeginsAgain) {
  SlowWait wait;
  wait.on_described(150s);
  EXPECT_FALSE(wait.is_due(20s));
  EXPECT_FALSE(wait.is_due(std::nullopt));
  EXPECT_FALSE(wait.is_due(999ms));
  EXPECT_TRUE(wait.is_due(1s));
}

}  // namespace
}  // namespace zklock::core
