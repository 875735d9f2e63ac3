// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/slow_wait.h"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

TEST(SlowWait, LongWait_IsDueAtPowersOfTen) {
  SlowWait wait;
  int described = 0;
  for (Duration oldest = 0s; oldest < 2000s; oldest += 500ms) {
    if (!wait.is_due(oldest)) continue;
    ++described;
    const Duration limits[] = {1s, 10s, 100s, 1000s};
    EXPECT_EQ(oldest, limits[described - 1]);
    wait.on_described(oldest);
  }
  EXPECT_EQ(described, 4);
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
