// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/local_batch.h"

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;

void grant(LocalAllowance& allowance, int times) {
  for (int i = 0; i < times; ++i) {
    EXPECT_TRUE(allowance.left()) << i;
    allowance.granted();
  }
}

TEST(LocalTerms, ShareWhatIsBatchedOrKept) {
  EXPECT_FALSE(LocalTerms{}.shares());
  EXPECT_TRUE(LocalTerms{.batch = 2}.shares());
  EXPECT_TRUE(LocalTerms{.keep_idle = 1ms}.shares());
}

TEST(LocalAllowance, IsTheBatch) {
  LocalAllowance allowance(4);
  grant(allowance, 4);
  EXPECT_FALSE(allowance.left());
}

TEST(LocalAllowance, AsksFromThreeQuartersOfItOn) {
  LocalAllowance allowance(64);
  grant(allowance, 47);
  EXPECT_FALSE(allowance.worth_asking());
  grant(allowance, 1);
  EXPECT_TRUE(allowance.worth_asking()) << "there are 16 left until it comes";
}

TEST(LocalAllowance, AsksOnceAtATime) {
  LocalAllowance allowance(4);
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

TEST(LocalAllowance, WhatWasGrantedBeforeItAskedCountsNoMore) {
  LocalAllowance allowance(4);
  grant(allowance, 2);
  allowance.asks();
  grant(allowance, 2);
  EXPECT_FALSE(allowance.left()) << "the question proves nothing";
  allowance.answered(true);
  grant(allowance, 2);
  EXPECT_FALSE(allowance.left()) << "two came after the question, and may have had somebody wait";
}

TEST(LocalAllowance, StaysWhenOthersWaitAndAsksNoMore) {
  LocalAllowance allowance(4);
  grant(allowance, 2);
  allowance.asks();
  allowance.answered(false);
  EXPECT_TRUE(allowance.others_wait());
  grant(allowance, 2);
  EXPECT_FALSE(allowance.left());
  EXPECT_FALSE(allowance.worth_asking());
}

TEST(LocalAllowance, BeginsAnewUnderAWatch) {
  LocalAllowance allowance(4);
  grant(allowance, 3);
  allowance.asks();
  allowance.nobody_known();
  grant(allowance, 3);
  allowance.answered(true);
  grant(allowance, 1);
  EXPECT_FALSE(allowance.left()) << "the answer takes nothing away that came after the watch";
}

TEST(LocalAllowance, OfOneIsNotAskedFor) {
  LocalAllowance allowance(1);
  EXPECT_FALSE(allowance.worth_asking());
  grant(allowance, 1);
  EXPECT_FALSE(allowance.worth_asking());
  EXPECT_FALSE(allowance.left());
}

TEST(LocalAllowance, OfTwoIsAskedForEachTime) {
  LocalAllowance allowance(2);
  for (int i = 0; i < 10; ++i) {
    grant(allowance, 1);
    EXPECT_TRUE(allowance.worth_asking());
    allowance.asks();
    allowance.answered(true);
  }
}

}  // namespace
}  // namespace zklock::core
