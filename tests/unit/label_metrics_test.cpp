// SPDX-License-Identifier: Apache-2.0
// Histograms of durations, and the counts by label.
#include "zklock/engine/session/label_metrics.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::detail {
namespace {

using namespace std::chrono_literals;
using core::AtomicHistogram;

TEST(AtomicHistogramTest, EachBound_CountsInItsRange) {
  for (std::size_t i = 0; i < DurationHistogram::kBounds.size(); ++i) {
    EXPECT_EQ(AtomicHistogram::range_of(DurationHistogram::kBounds[i]), i);
    EXPECT_EQ(AtomicHistogram::range_of(DurationHistogram::kBounds[i] + 1ns), i + 1);
  }
  EXPECT_EQ(AtomicHistogram::range_of(-1ns), 0U);
  EXPECT_EQ(AtomicHistogram::range_of(24h), DurationHistogram::kBounds.size());
}

TEST(AtomicHistogramTest, Durations_AreCountedAndSummed) {
  AtomicHistogram histogram;
  EXPECT_EQ(histogram.read(), DurationHistogram{});
  for (const auto duration : {core::Duration(250us), core::Duration(2s), core::Duration(-5s)}) {
    histogram.add(duration);
  }
  const DurationHistogram all = histogram.read();
  EXPECT_EQ(all.counts[0], 2U);
  EXPECT_EQ(all.counts[6], 1U);
  EXPECT_EQ(all.count(), 3U);
  EXPECT_EQ(all.sum, 2s + 250us);
}

TEST(AtomicHistogramTest, LongDurations_DoNotOverflow) {
  constexpr core::Duration kLong = core::Duration::max() / 2;
  AtomicHistogram histogram;
  for (int i = 0; i < 3; ++i) histogram.add(kLong);
  EXPECT_EQ(histogram.read().sum, 3 * std::chrono::duration_cast<std::chrono::microseconds>(kLong));
}

TEST(AtomicHistogramTest, ManyThreads_LoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kAdds = 20'000;
  AtomicHistogram histogram;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kAdds; ++i) histogram.add(1us);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(histogram.read().counts[0], static_cast<std::uint64_t>(kThreads * kAdds));
  EXPECT_EQ(histogram.read().sum, kThreads * kAdds * 1us);
}

TEST(LabelRegistryTest, Label201_IsOther) {
  LabelRegistry registry;
  for (std::size_t i = 0; i < LabelRegistry::kMostLabels; ++i) registry.of(std::to_string(i));
  EXPECT_EQ(registry.all().size(), LabelRegistry::kMostLabels);
  LabelMetrics& other = registry.of("one more");
  EXPECT_EQ(&registry.of("yet another"), &other);
  EXPECT_EQ(&registry.of("other"), &other);
  EXPECT_NE(&registry.of("7"), &other);
  EXPECT_EQ(registry.all().size(), LabelRegistry::kMostLabels + 1);
}

TEST(LabelRegistryTest, HostileLabel_IsCutAndPrintable) {
  LabelRegistry registry;
  registry.of("a\nb" + std::string(100, 'x'));
  EXPECT_EQ(registry.all().at(0).first, "a?b" + std::string(61, 'x'));
}

}  // namespace
}  // namespace zklock::detail
