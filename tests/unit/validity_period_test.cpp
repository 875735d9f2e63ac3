// SPDX-License-Identifier: Apache-2.0
// The additions of ValidityPeriod to Lease; see lease_test.cpp.
#include "zklock/core/validity_period.h"

#include <chrono>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Instant kValidUntil(seconds(100));
constexpr Duration kShortest = nanoseconds(1);

TEST(ValidityPeriod, RenewedInTime_LastsUntilTheNewEnd) {
  ValidityPeriod lease(kValidUntil);
  EXPECT_TRUE(lease.renew(kValidUntil - kShortest, kValidUntil + seconds(5)));
  EXPECT_TRUE(lease.check(kValidUntil + seconds(5) - kShortest));
  EXPECT_FALSE(lease.check(kValidUntil + seconds(5)));
}

TEST(ValidityPeriod, RenewedWithAnEarlierEnd_IsShortened) {
  ValidityPeriod lease(kValidUntil);
  EXPECT_TRUE(lease.renew(Instant{}, kValidUntil - seconds(50)));
  EXPECT_EQ(lease.valid_until(), kValidUntil - seconds(50));
  EXPECT_FALSE(lease.check(kValidUntil - seconds(50)));
}

TEST(ValidityPeriod, Limit_OnlyShortens) {
  ValidityPeriod lease(kValidUntil);
  EXPECT_FALSE(lease.limit(kValidUntil));
  EXPECT_FALSE(lease.limit(kValidUntil + kShortest));
  EXPECT_EQ(lease.valid_until(), kValidUntil);
  EXPECT_TRUE(lease.limit(kValidUntil - seconds(1)));
  EXPECT_FALSE(lease.check(kValidUntil - seconds(1)));
  EXPECT_FALSE(lease.limit(kValidUntil - seconds(2)));
  EXPECT_EQ(lease.valid_until(), Instant::min());
}

TEST(ValidityPeriod, RenewedTooLate_HasLapsed) {
  for (const Duration late : {Duration{}, kShortest}) {
    ValidityPeriod lease(kValidUntil);
    EXPECT_FALSE(lease.renew(kValidUntil + late, kValidUntil + seconds(5)));
    EXPECT_EQ(lease.valid_until(), Instant::min());
    EXPECT_FALSE(lease.renew(Instant{}, kValidUntil));
    EXPECT_FALSE(lease.check(Instant{}));
  }
}

TEST(ValidityPeriod, NoEnd_IsAlwaysValid) {
  ValidityPeriod lease(Instant::max());
  EXPECT_TRUE(lease.check(Instant::max() - kShortest));
  EXPECT_TRUE(lease.renew(kValidUntil, kValidUntil + kShortest));
  EXPECT_FALSE(lease.check(kValidUntil + kShortest));
}

}  // namespace
}  // namespace zklock::core
