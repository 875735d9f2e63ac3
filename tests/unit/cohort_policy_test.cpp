// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/cohort_policy.h"

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

void grant(CohortBudget& budget, int times) {
  for (int i = 0; i < times; ++i) {
    EXPECT_TRUE(budget.has_grants_left()) << i;
    budget.on_grant();
  }
}

TEST(CohortBudget, ThreeQuartersUsed_QueryIsDue) {
  CohortBudget budget(64);
  grant(budget, 47);
  EXPECT_FALSE(budget.is_count_due());
  grant(budget, 1);
  EXPECT_TRUE(budget.is_count_due()) << "16 grants are left until the reply";
}

TEST(CohortBudget, QueryInFlight_NoSecondQuery) {
  CohortBudget budget(4);
  grant(budget, 2);
  EXPECT_FALSE(budget.is_count_due());
  grant(budget, 1);
  EXPECT_TRUE(budget.is_count_due());
  EXPECT_FALSE(budget.is_counting());
  budget.on_count_requested();
  EXPECT_FALSE(budget.is_count_due()) << "a count is in flight";
  EXPECT_TRUE(budget.is_counting());
  grant(budget, 1);
  budget.on_counted(true);
  EXPECT_FALSE(budget.is_counting());
  EXPECT_FALSE(budget.is_count_due()) << "one grant was made since the request";
  grant(budget, 2);
  EXPECT_TRUE(budget.is_count_due());
}

TEST(CohortBudget, QueryAnswered_EarlierGrantsNoLongerCount) {
  CohortBudget budget(4);
  grant(budget, 2);
  budget.on_count_requested();
  grant(budget, 2);
  EXPECT_FALSE(budget.has_grants_left()) << "a request proves nothing";
  budget.on_counted(true);
  grant(budget, 2);
  EXPECT_FALSE(budget.has_grants_left())
      << "another client may have waited during the two grants after the request";
}

TEST(CohortBudget, WatchSet_BudgetRestarts) {
  CohortBudget budget(4);
  grant(budget, 3);
  budget.on_count_requested();
  budget.on_watched_grant();
  grant(budget, 3);
  budget.on_counted(true);
  grant(budget, 1);
  EXPECT_FALSE(budget.has_grants_left())
      << "the reply does not subtract grants made after the watch was armed";
}

}  // namespace
}  // namespace zklock::core
