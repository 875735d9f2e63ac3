// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/hold_limit.h"

#include <chrono>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant start(100s);

TEST(HoldLimit, Unlimited_HasNeitherEndNorWarning) {
  EXPECT_EQ(HoldLimit{}.end(start), Instant::max());
  EXPECT_EQ(HoldLimit{}.warning(start), Instant::max());
  EXPECT_EQ((HoldLimit{.notice = 1s}.warning(start)), Instant::max());
}

TEST(HoldLimit, DefaultNotice_WarnsAQuarterBeforeTheEnd) {
  const HoldLimit limit{.longest = 8s};
  EXPECT_EQ(limit.end(start), start + 8s);
  EXPECT_EQ(limit.warning(start), start + 6s);
}

TEST(HoldLimit, NoticeGiven_WarnsThatLongBeforeTheEnd) {
  EXPECT_EQ((HoldLimit{.longest = 8s, .notice = 1s}.warning(start)), start + 7s);
}

TEST(HoldLimit, NoticeNotShorterThanTheLimit_WarnsAtOnce) {
  for (const Duration notice : {Duration(8s), Duration(9s), Duration::max()}) {
    EXPECT_EQ((HoldLimit{.longest = 8s, .notice = notice}.warning(start)), start);
  }
}

TEST(HoldLimit, LimitTooLong_IsUnlimited) {
  EXPECT_EQ(HoldLimit{.longest = Duration::max()}.end(start), Instant::max());
  EXPECT_EQ(HoldLimit{.longest = Duration::max()}.warning(start), Instant::max());
}

}  // namespace
}  // namespace zklock::core
