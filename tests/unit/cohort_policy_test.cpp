// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/cohort_policy.h"

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

void grant(CohortBudget& allowance, int times) {
  for (int i = 0; i < times; ++i) {
    EXPECT_TRUE(allowance.left()) << i;
    allowance.granted();
  }
}

TEST(CohortPolicy, BatchOrIdleRetention_SharesTheNode) {
  EXPECT_FALSE(CohortPolicy{}.shares());
  EXPECT_TRUE(CohortPolicy{.batch = 2}.shares());
  EXPECT_TRUE(CohortPolicy{.keep_idle_for = 1ms}.shares());
}

TEST(CohortBudget, BatchGranted_IsUsedUp) {
  CohortBudget allowance(4);
  grant(allowance, 4);
  EXPECT_FALSE(allowance.left());
}

TEST(CohortBudget, ThreeQuartersUsed_QueryIsDue) {
  CohortBudget allowance(64);
  grant(allowance, 47);
  EXPECT_FALSE(allowance.worth_asking());
  grant(allowance, 1);
  EXPECT_TRUE(allowance.worth_asking()) << "there are 16 left until it comes";
}

TEST(CohortBudget, QueryInFlight_NoSecondQuery) {
  CohortBudget allowance(4);
  grant(allowance, 2);
  EXPECT_FALSE(allowance.worth_asking());
  grant(allowance, 1);
  EXPECT_TRUE(allowance.worth_asking());
  EXPECT_FALSE(allowance.asking());
  allowance.asks();
  EXPECT_FALSE(allowance.worth_asking()) << "there is a question under way";
  EXPECT_TRUE(allowance.asking());
  grant(allowance, 1);
  allowance.answered(true);
  EXPECT_FALSE(allowance.asking());
  EXPECT_FALSE(allowance.worth_asking()) << "there was one since";
  grant(allowance, 2);
  EXPECT_TRUE(allowance.worth_asking());
}

TEST(CohortBudget, QueryAnswered_EarlierGrantsNoLongerCount) {
  CohortBudget allowance(4);
  grant(allowance, 2);
  allowance.asks();
  grant(allowance, 2);
  EXPECT_FALSE(allowance.left()) << "the question proves nothing";
  allowance.answered(true);
  grant(allowance, 2);
  EXPECT_FALSE(allowance.left()) << "two came after the question, and may have had somebody wait";
}

TEST(CohortBudget, OthersWait_NoFurtherQuery) {
  CohortBudget allowance(4);
  grant(allowance, 2);
  allowance.asks();
  allowance.answered(false);
  EXPECT_TRUE(allowance.others_wait());
  grant(allowance, 2);
  EXPECT_FALSE(allowance.left());
  EXPECT_FALSE(allowance.worth_asking());
}

TEST(CohortBudget, WatchSet_BudgetRestarts) {
  CohortBudget allowance(4);
  grant(allowance, 3);
  allowance.asks();
  allowance.nobody_known();
  grant(allowance, 3);
  allowance.answered(true);
  grant(allowance, 1);
  EXPECT_FALSE(allowance.left()) << "the answer takes nothing away that came after the watch";
}

TEST(CohortBudget, BatchOfOne_NeverQueries) {
  CohortBudget allowance(1);
  EXPECT_FALSE(allowance.worth_asking());
  grant(allowance, 1);
  EXPECT_FALSE(allowance.worth_asking());
  EXPECT_FALSE(allowance.left());
}

TEST(CohortBudget, BatchOfTwo_QueriesEachTime) {
  CohortBudget allowance(2);
  for (int i = 0; i < 10; ++i) {
    grant(allowance, 1);
    EXPECT_TRUE(allowance.worth_asking());
    allowance.asks();
    allowance.answered(true);
  }
}

}  // namespace
}  // namespace zklock::core
