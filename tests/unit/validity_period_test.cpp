// SPDX-License-Identifier: Apache-2.0
// The additions of ValidityPeriod to Lease; see lease_test.cpp.
#include "zklock/core/validity_period.h"

#include <chrono>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Instant end(seconds(100));
constexpr Duration moment = nanoseconds(1);

TEST(ValidityPeriod, RenewedInTime_LastsUntilTheNewEnd) {
  ValidityPeriod lease(end);
  EXPECT_TRUE(lease.renew(end - moment, end + seconds(5)));
  EXPECT_TRUE(lease.check(end + seconds(5) - moment));
  EXPECT_FALSE(lease.check(end + seconds(5)));
}

TEST(ValidityPeriod, RenewedWithAnEarlierEnd_IsShortened) {
  ValidityPeriod lease(end);
  EXPECT_TRUE(lease.renew(Instant{}, end - seconds(50)));
  EXPECT_EQ(lease.valid_until(), end - seconds(50));
  EXPECT_FALSE(lease.check(end - seconds(50)));
}

TEST(ValidityPeriod, Limit_OnlyShortens) {
  ValidityPeriod lease(end);
  EXPECT_FALSE(lease.limit(end));
  EXPECT_FALSE(lease.limit(end + moment));
  EXPECT_EQ(lease.valid_until(), end);
  EXPECT_TRUE(lease.limit(end - seconds(1)));
  EXPECT_FALSE(lease.check(end - seconds(1)));
  EXPECT_FALSE(lease.limit(end - seconds(2)));
  EXPECT_EQ(lease.valid_until(), Instant::min());
}

TEST(ValidityPeriod, RenewedTooLate_HasLapsed) {
  for (const Duration late : {Duration{}, moment}) {
    ValidityPeriod lease(end);
    EXPECT_FALSE(lease.renew(end + late, end + seconds(5)));
    EXPECT_EQ(lease.valid_until(), Instant::min());
    EXPECT_FALSE(lease.renew(Instant{}, end));
    EXPECT_FALSE(lease.check(Instant{}));
  }
}

TEST(ValidityPeriod, NoEnd_IsAlwaysValid) {
  ValidityPeriod lease(Instant::max());
  EXPECT_TRUE(lease.check(Instant::max() - moment));
  EXPECT_TRUE(lease.renew(end, end + moment));
  EXPECT_FALSE(lease.check(end + moment));
}

}  // namespace
}  // namespace zklock::core
