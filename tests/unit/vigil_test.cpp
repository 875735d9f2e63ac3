// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/vigil.h"

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

constexpr Instant at(Duration since_boot) {
  return Instant(since_boot);
}

TEST(Vigil, IsAllowedWhereOthersRunForAMoment) {
  Vigil vigil;
  EXPECT_TRUE(vigil.is_allowed(at(5s)));
  vigil.gave_way(at(5s), at(5s + 1ms));
  EXPECT_TRUE(vigil.is_allowed(at(5s + 1ms)));
}

TEST(Vigil, EndsForTwentyTimesAsLongAsOthersRan) {
  Vigil vigil;
  vigil.gave_way(at(5s), at(5s + 3ms));
  EXPECT_FALSE(vigil.is_allowed(at(5s + 3ms)));
  EXPECT_FALSE(vigil.is_allowed(at(5s + 63ms - 1ns)));
  EXPECT_TRUE(vigil.is_allowed(at(5s + 63ms)));
}

TEST(Vigil, KnowsTheLongestLossWhicheverIsToldLast) {
  for (const bool longest_first : {true, false}) {
    Vigil vigil;
    if (longest_first) vigil.gave_way(at(5s), at(5s + 10ms));
    vigil.gave_way(at(5s), at(5s + 2ms));
    if (!longest_first) vigil.gave_way(at(5s), at(5s + 10ms));
    EXPECT_FALSE(vigil.is_allowed(at(5s + 209ms))) << longest_first;
    EXPECT_TRUE(vigil.is_allowed(at(5s + 210ms))) << longest_first;
  }
}

TEST(Vigil, TakesAMachineThatStoodStillForNoBusyOne) {
  Vigil vigil;
  vigil.gave_way(at(5s), at(8h));
  EXPECT_FALSE(vigil.is_allowed(at(8h + 999ms)));
  EXPECT_TRUE(vigil.is_allowed(at(8h + 1s)));
}

}  // namespace
}  // namespace zklock::core
