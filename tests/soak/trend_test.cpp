// SPDX-License-Identifier: Apache-2.0
#include "soak/trend.h"

#include <vector>

#include <gtest/gtest.h>

#include "soak/record.h"

namespace zklock::soak {
namespace {

TEST(Trend, Slope_IsOfLeastSquaresLine) {
  EXPECT_EQ(slope({}), std::nullopt);
  EXPECT_EQ(slope(std::vector<Point>{{1, 5}}), std::nullopt);
  EXPECT_EQ(slope(std::vector<Point>{{1, 5}, {1, 6}}), std::nullopt);
  EXPECT_DOUBLE_EQ(slope(std::vector<Point>{{1, 5}, {3, 9}}).value(), 2);
  EXPECT_DOUBLE_EQ(slope(std::vector<Point>{{0, 1}, {1, 3}, {2, 2}}).value(), 0.5);
  EXPECT_DOUBLE_EQ(slope(std::vector<Point>{{0, 7}, {1, 7}, {2, 7}}).value(), 0);
}

class Judged : public ::testing::Test {
 protected:
  // Ten rests of one client, after 20,000 cycles each, without any leak.
  static Sample clean(std::size_t i) {
    Sample sample;
    sample.cycles = 20'000 * (i + 1);
    sample.seconds = 10 * static_cast<double>(i + 1);
    sample.process = {.descriptors = 9, .threads = 5, .resident_kb = 9000, .heap_kb = 900};
    sample.server = {.sessions = 1, .connections = 1};
    sample.clients = 1;
    return sample;
  }
  // Returns the names of the bounds that are broken after `change` was applied to each sample.
  template <class Change>
  static std::vector<std::string> broken(Change change, const Tally& tally = {.cycles = 200'000}) {
    Record record;
    record.add(tally);
    for (std::size_t i = 0; i < 10; ++i) {
      Sample sample = clean(i);
      change(sample, static_cast<double>(i));
      record.add(std::move(sample));
    }
    std::vector<std::string> names;
    for (const Bound& bound : record.judge({})) {
      if (!bound.kept) names.push_back(bound.name);
    }
    return names;
  }
  using Names = std::vector<std::string>;
};

TEST_F(Judged, NothingLeft_PassesEveryBound) {
  EXPECT_EQ(broken([](Sample&, double) {}), Names{});
}

TEST_F(Judged, LeftoverInOneSample_BreaksBound) {
  const auto once = [](auto change) {
    return broken([change](Sample& sample, double i) {
      if (i == 4) change(sample);
    });
  };
  EXPECT_EQ(once([](Sample& s) { s.server.nodes = {"/soak/a"}; }), Names{"nodes left"});
  EXPECT_EQ(once([](Sample& s) { s.server.watches = 1; }), Names{"watches left"});
  EXPECT_EQ(once([](Sample& s) { s.server.sessions = 2; }).size(), 1U);
  EXPECT_EQ(once([](Sample& s) { s.server.sessions = 0; }).size(), 1U);
  EXPECT_EQ(once([](Sample& s) { s.server.connections = 0; }).size(), 1U);
  EXPECT_EQ(once([](Sample& s) { ++s.process.descriptors; }), Names{"descriptors"});
  EXPECT_EQ(once([](Sample& s) { ++s.process.threads; }), Names{"threads"});
}

TEST_F(Judged, MemoryGrows_BreaksBound) {
  // 20,000 cycles a rest: 210 kB each are 1050 kB per 100,000.
  EXPECT_EQ(broken([](Sample& s, double i) { s.process.resident_kb += 210 * i; }).size(), 1U);
  EXPECT_EQ(broken([](Sample& s, double i) { s.process.heap_kb += 210 * i; }).size(), 1U);
  EXPECT_EQ(broken([](Sample& s, double i) { s.process.resident_kb += 200 * i; }), Names{});
  // The first half is the warm-up and does not count.
  EXPECT_EQ(broken([](Sample& s, double i) { s.process.heap_kb += i < 5 ? 999 * i : 9999; }),
            Names{});
}

TEST_F(Judged, TooFewCyclesOrUnknownErrors_BreakBound) {
  const auto as_it_is = [](Sample&, double) {};
  EXPECT_EQ(broken(as_it_is, {.cycles = 11'000}), Names{"cycles"});
  EXPECT_EQ(broken(as_it_is, {.cycles = 12'000, .unexpected = {"x"}}),
            Names{"errors that nothing explains"});
}

}  // namespace
}  // namespace zklock::soak
