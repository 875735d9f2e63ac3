// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <thread>

#include <gtest/gtest.h>

#include "zklock/core/validity_period.h"

namespace zklock::core {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr SessionId kSession{7};
constexpr Instant kEnd(seconds(100));
constexpr Duration kMoment = nanoseconds(1);

TEST(Lease, QueriedInTime_IsValidUntilItsEnd) {
  Lease lease(kSession, kEnd);
  EXPECT_EQ(lease.session(), kSession);
  EXPECT_EQ(lease.valid_until(), kEnd);
  EXPECT_TRUE(lease.check(Instant{}));
  EXPECT_TRUE(lease.check(kEnd - kMoment));
  EXPECT_EQ(lease.valid_until(), kEnd) << "a question in time changes nothing";
}

TEST(Lease, QueriedTooLate_Lapses) {
  for (const Duration late : {Duration{}, kMoment, Duration(seconds(1))}) {
    Lease lease(kSession, kEnd);
    EXPECT_FALSE(lease.check(kEnd + late));
    EXPECT_EQ(lease.valid_until(), Instant::min());
    EXPECT_FALSE(lease.check(kEnd - seconds(1))) << "whatever time the next one brings";
    EXPECT_FALSE(lease.extend(kEnd + seconds(10)));
    EXPECT_FALSE(lease.check(kEnd));
  }
}

TEST(Lease, Extended_NeverShortens) {
  Lease lease(kSession, kEnd);
  EXPECT_TRUE(lease.extend(kEnd + seconds(5)));
  EXPECT_EQ(lease.valid_until(), kEnd + seconds(5));
  EXPECT_TRUE(lease.extend(kEnd));
  EXPECT_TRUE(lease.extend(Instant::min()));
  EXPECT_EQ(lease.valid_until(), kEnd + seconds(5));
  EXPECT_TRUE(lease.check(kEnd + seconds(5) - kMoment));
  EXPECT_FALSE(lease.check(kEnd + seconds(5)));
}

// The state was not queried in between. So the extension is in time, though it comes after the old
// end.
TEST(Lease, ExtendedAfterTheEndUnqueried_IsValid) {
  Lease lease(kSession, kEnd);
  EXPECT_TRUE(lease.extend(kEnd + seconds(1)));
  EXPECT_TRUE(lease.check(kEnd));
}

TEST(Lease, StartedTooLate_WasNeverValid) {
  Lease lease(kSession, Instant::min());
  EXPECT_FALSE(lease.check(Instant::min()));
  EXPECT_FALSE(lease.extend(kEnd));
}

/// One thread extends each of many terms until another thread ends it with `end_it`, so that they
/// meet at every point. Returns how many terms are valid afterwards.
template <typename EndIt>
int revived(EndIt end_it) {
  constexpr std::size_t kRounds = 10'000;
  std::deque<Lease> terms;
  for (std::size_t i = 0; i < kRounds; ++i) terms.emplace_back(kSession, kEnd);
  std::atomic<std::size_t> extending{0};
  std::atomic<std::size_t> ended{0};
  std::jthread extender([&] {
    for (std::size_t i = 0; i < kRounds; ++i) {
      extending = i + 1;
      for (int more = 1; ended <= i; ++more) {
        terms[i].extend(kEnd + more % 1000 * kMoment);
        if (more % 64 == 0) std::this_thread::yield();
      }
    }
  });
  for (std::size_t i = 0; i < kRounds; ++i) {
    while (extending <= i) std::this_thread::yield();
    end_it(terms[i]);
    ended = i + 1;
  }
  extender.join();
  int valid = 0;
  for (Lease& lease : terms) valid += lease.check(Instant{}) ? 1 : 0;
  return valid;
}

TEST(Lease, ExtendedTooLate_StaysLapsed) {
  EXPECT_EQ(revived([](Lease& lease) { lease.lapse(); }), 0);
  EXPECT_EQ(revived([](Lease& lease) { lease.check(kEnd + seconds(1)); }), 0);
}

// ---- what ValidityPeriod adds ---------------------------------------------------------------------

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
