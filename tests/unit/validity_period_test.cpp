// SPDX-License-Identifier: Apache-2.0
// The additions of ValidityPeriod to Lease; see lease_test.cpp.
#include "zklock/core/validity_period.h"

#include <chrono>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Instant kEnd(seconds(100));
constexpr Duration kMoment = nanoseconds(1);

TEST(ValidityPeriod, RenewedInTime_LastsUntilTheNewEnd) {
  ValidityPeriod lease(kEnd);
  EXPECT_TRUE(lease.renew(kEnd - kMoment, kEnd + seconds(5)));
  EXPECT_TRUE(lease.check(kEnd + seconds(5) - kMoment));
  EXPECT_FALSE(lease.check(kEnd + seconds(5)));
}

TEST(ValidityPeriod, RenewedWithAnEarlierEnd_IsShortened) {
  ValidityPeriod lease(kEnd);
  EXPECT_TRUE(lease.renew(Instant{}, kEnd - seconds(50)));
  EXPECT_EQ(lease.valid_until(), kEnd - seconds(50));
  EXPECT_FALSE(lease.check(kEnd - seconds(50)));
}

TEST(ValidityPeriod, Limit_OnlyShortens) {
  ValidityPeriod lease(kEnd);
  EXPECT_FALSE(lease.limit(kEnd));
  EXPECT_FALSE(lease.limit(kEnd + kMoment));
  EXPECT_EQ(lease.valid_until(), kEnd);
  EXPECT_TRUE(lease.limit(kEnd - seconds(1)));
  EXPECT_FALSE(lease.check(kEnd - seconds(1)));
  EXPECT_FALSE(lease.limit(kEnd - seconds(2)));
  EXPECT_EQ(lease.valid_until(), Instant::min());
}

TEST(ValidityPeriod, RenewedTooLate_HasLapsed) {
  for (const Duration late : {Duration{}, kMoment}) {
    ValidityPeriod lease(kEnd);
    EXPECT_FALSE(lease.renew(kEnd + late, kEnd + seconds(5)));
    EXPECT_EQ(lease.valid_until(), Instant::min());
    EXPECT_FALSE(lease.renew(Instant{}, kEnd));
    EXPECT_FALSE(lease.check(Instant{}));
  }
}

TEST(ValidityPeriod, NoEnd_IsAlwaysValid) {
  ValidityPeriod lease(Instant::max());
  EXPECT_TRUE(lease.check(Instant::max() - kMoment));
  EXPECT_TRUE(lease.renew(kEnd, kEnd + kMoment));
  EXPECT_FALSE(lease.check(kEnd + kMoment));
}

}  // namespace
}  // namespace zklock::core
