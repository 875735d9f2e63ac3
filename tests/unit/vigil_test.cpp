// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/vigil.h"

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant at(Duration since_boot) {
  return Instant(since_boot);
}

TEST(Vigil, ShortLoss_IsStillAllowed) {
  Vigil vigil;
  EXPECT_TRUE(vigil.is_allowed(at(5s)));
  vigil.gave_way(at(5s), at(5s + 1ms));
  EXPECT_TRUE(vigil.is_allowed(at(5s + 1ms)));
}

TEST(Vigil, OccasionalLoss_IsStillAllowed) {
  Vigil vigil;
  for (auto now = 5s; now < 60s; now += 1s) {
    vigil.gave_way(at(now), at(now + 10ms));
    EXPECT_TRUE(vigil.is_allowed(at(now + 10ms))) << now.count();
  }
}

TEST(Vigil, ExcessLoss_PausesForTwentyTimesAsLong) {
  Vigil vigil;
  vigil.gave_way(at(5s), at(5s + 10ms));
  EXPECT_TRUE(vigil.is_allowed(at(5s + 10ms))) << "so much was saved up";
  vigil.gave_way(at(5s + 10ms), at(5s + 13ms));
  EXPECT_FALSE(vigil.is_allowed(at(5s + 70ms - 1ns)));
  EXPECT_TRUE(vigil.is_allowed(at(5s + 70ms)));
  vigil.gave_way(at(5s + 70ms), at(5s + 73ms));
  EXPECT_FALSE(vigil.is_allowed(at(5s + 130ms - 1ns))) << "nothing is left";
  EXPECT_TRUE(vigil.is_allowed(at(5s + 130ms)));
}

TEST(Vigil, OverlappingLosses_CountOnce) {
  for (const bool longest_first : {true, false}) {
    Vigil vigil;
    if (longest_first) vigil.gave_way(at(5s), at(5s + 20ms));
    vigil.gave_way(at(5s), at(5s + 15ms));
    if (!longest_first) vigil.gave_way(at(5s), at(5s + 20ms));
    EXPECT_FALSE(vigil.is_allowed(at(5s + 214ms))) << longest_first;
    EXPECT_TRUE(vigil.is_allowed(at(5s + 220ms))) << longest_first;
  }
}

TEST(Vigil, LossBeforeAReportedLoss_DoesNotCount) {
  Vigil vigil;
  vigil.gave_way(at(5s + 28ms), at(5s + 30ms));
  vigil.gave_way(at(5s), at(5s + 29ms));
  EXPECT_TRUE(vigil.is_allowed(at(5s + 30ms)));
}

TEST(Vigil, MachineSuspended_PauseIsLimited) {
  Vigil vigil;
  vigil.gave_way(at(5s), at(8h));
  EXPECT_FALSE(vigil.is_allowed(at(8h + 799ms)));
  EXPECT_TRUE(vigil.is_allowed(at(8h + 800ms)));
}

}  // namespace
}  // namespace zklock::core
