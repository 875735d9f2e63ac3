// SPDX-License-Identifier: Apache-2.0
// The additions of Term to LeaseTerm; see lease_term_test.cpp.
#include "zklock/core/term.h"

#include <chrono>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Instant end(seconds(100));
constexpr Duration moment = nanoseconds(1);

TEST(Term, RenewedInTimeItLastsUntilTheNewEnd) {
  Term term(end);
  EXPECT_TRUE(term.renew(end - moment, end + seconds(5)));
  EXPECT_TRUE(term.valid(end + seconds(5) - moment));
  EXPECT_FALSE(term.valid(end + seconds(5)));
}

TEST(Term, RenewingMayShorten) {
  Term term(end);
  EXPECT_TRUE(term.renew(Instant{}, end - seconds(50)));
  EXPECT_EQ(term.valid_until(), end - seconds(50));
  EXPECT_FALSE(term.valid(end - seconds(50)));
}

TEST(Term, Limit_OnlyShortens) {
  Term term(end);
  EXPECT_FALSE(term.limit(end));
  EXPECT_FALSE(term.limit(end + moment));
  EXPECT_EQ(term.valid_until(), end);
  EXPECT_TRUE(term.limit(end - seconds(1)));
  EXPECT_FALSE(term.valid(end - seconds(1)));
  EXPECT_FALSE(term.limit(end - seconds(2)));
  EXPECT_EQ(term.valid_until(), Instant::min());
}

TEST(Term, RenewedTooLateItHasLapsed) {
  for (const Duration late : {Duration{}, moment}) {
    Term term(end);
    EXPECT_FALSE(term.renew(end + late, end + seconds(5)));
    EXPECT_EQ(term.valid_until(), Instant::min());
    EXPECT_FALSE(term.renew(Instant{}, end));
    EXPECT_FALSE(term.valid(Instant{}));
  }
}

TEST(Term, WithoutAnEndItIsAlwaysValid) {
  Term term(Instant::max());
  EXPECT_TRUE(term.valid(Instant::max() - moment));
  EXPECT_TRUE(term.renew(end, end + moment));
  EXPECT_FALSE(term.valid(end + moment));
}

}  // namespace
}  // namespace zklock::core
