// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <thread>
#include <vector>

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

TEST(Lease, LapsedOnRequest_StaysLapsed) {
  Lease lease(kSession, kEnd);
  lease.lapse();
  EXPECT_FALSE(lease.check(Instant{}));
  EXPECT_FALSE(lease.extend(kEnd + seconds(1)));
  EXPECT_EQ(lease.valid_until(), Instant::min());
  lease.lapse();
  EXPECT_FALSE(lease.check(Instant{}));
}

TEST(Lease, StartedTooLate_WasNeverValid) {
  Lease lease(kSession, Instant::min());
  EXPECT_FALSE(lease.check(Instant::min()));
  EXPECT_FALSE(lease.extend(kEnd));
}

/// The results of the threads of a race, in the order of one clock.
struct Race {
  Lease lease{kSession, Instant(nanoseconds(1000))};
  std::atomic<std::int64_t> now{0};
  /// Set when a thread saw the term expired. A thread that sees it valid afterwards got a wrong
  /// result.
  std::atomic<bool> seen_lapsed{false};
  std::atomic<int> lies{0};

  void query() {
    const bool lapsed_before = seen_lapsed.load();
    const bool valid = lease.check(Instant(nanoseconds(now.load())));
    if (valid && lapsed_before) ++lies;
    if (!valid) seen_lapsed.store(true);
  }
  void extend(std::int64_t by) {
    const bool lapsed_before = seen_lapsed.load();
    const std::int64_t until = now.load() + by;
    if (lease.extend(Instant(nanoseconds(until))) && lapsed_before) ++lies;
  }
};

void run_race(std::uint32_t seed, bool with_order_to_lapse) {
  Race race;
  constexpr int kThreads = 4;
  std::barrier begin(kThreads);
  const auto body = [&](std::uint32_t which) {
    std::mt19937 random(seed * kThreads + which);
    begin.arrive_and_wait();
    for (int i = 0; i < 400; ++i) {
      race.now.fetch_add(static_cast<std::int64_t>(random() % 8));
      switch (random() % 4) {
        case 0: race.extend(static_cast<std::int64_t>(random() % 1000)); break;
        case 1:
          if (with_order_to_lapse && which == 0 && i > 200) race.lease.lapse();
          break;
        default: race.query(); break;
      }
    }
  };
  std::vector<std::jthread> running;
  for (std::uint32_t which = 0; which < kThreads; ++which) running.emplace_back(body, which);
  running.clear();
  EXPECT_EQ(race.lies.load(), 0) << "seed " << seed;
  if (with_order_to_lapse) {
    EXPECT_FALSE(race.lease.check(Instant{})) << "seed " << seed;
  }
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

TEST(Lease, LapseSeenByAThread_NoThreadSeesItValid) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) run_race(seed, false);
}

TEST(Lease, LapsedConcurrently_CannotBeExtended) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) run_race(seed, true);
}

}  // namespace
}  // namespace zklock::core
