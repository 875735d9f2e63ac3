// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/patience.h"

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

TEST(Patience, IsGreaterWhereTheLastWaitWasBrief) {
  Patience patience(300us, 500us);
  EXPECT_EQ(patience.stay_awake(), 60us) << "nothing is known";
  patience.waited(500us);
  EXPECT_EQ(patience.stay_awake(), 300us);
  patience.waited(501us);
  EXPECT_EQ(patience.stay_awake(), 60us);
}

TEST(Patience, OfNoTimeIsNone) {
  Patience patience(0us, 0us);
  patience.waited(0us);
  EXPECT_EQ(patience.stay_awake(), 0us);
}

}  // namespace
}  // namespace zklock::core
