// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/hold_limit.h"

#include <chrono>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart(100s);

TEST(HoldLimit, Unlimited_HasNeitherEndNorWarning) {
  EXPECT_EQ(HoldLimit{}.end(kStart), Instant::max());
  EXPECT_EQ(HoldLimit{}.warning(kStart), Instant::max());
  EXPECT_EQ((HoldLimit{.notice = 1s}.warning(kStart)), Instant::max());
}

TEST(HoldLimit, DefaultNotice_WarnsAQuarterBeforeTheEnd) {
  const HoldLimit limit{.longest = 8s};
  EXPECT_EQ(limit.end(kStart), kStart + 8s);
  EXPECT_EQ(limit.warning(kStart), kStart + 6s);
}

TEST(HoldLimit, NoticeGiven_WarnsThatLongBeforeTheEnd) {
  EXPECT_EQ((HoldLimit{.longest = 8s, .notice = 1s}.warning(kStart)), kStart + 7s);
}

TEST(HoldLimit, NoticeNotShorterThanTheLimit_WarnsAtOnce) {
  for (const Duration notice : {Duration(8s), Duration(9s), Duration::max()}) {
    EXPECT_EQ((HoldLimit{.longest = 8s, .notice = notice}.warning(kStart)), kStart);
  }
}

TEST(HoldLimit, LimitTooLong_IsUnlimited) {
  EXPECT_EQ(HoldLimit{.longest = Duration::max()}.end(kStart), Instant::max());
  EXPECT_EQ(HoldLimit{.longest = Duration::max()}.warning(kStart), Instant::max());
}

}  // namespace
}  // namespace zklock::core
