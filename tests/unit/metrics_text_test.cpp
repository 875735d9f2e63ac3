// SPDX-License-Identifier: Apache-2.0
// The metrics as families, and their text. metrics_text.golden has all names; the checks of the
// monitoring files read it.
#include <cstddef>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sample_metrics.h"
#include "zklock/metrics.h"

namespace zklock {
namespace {

using testing::sample_metrics;

std::string text_of(const std::vector<ClientMetrics>& clients) {
  return metrics_text(metric_families(clients));
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(MetricsTextTest, EachMetric_IsAsInGoldenFile) {
  std::ifstream file(ZKLOCK_SOURCE_DIR "/tests/unit/metrics_text.golden");
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(metrics_text(metric_families(sample_metrics())), golden.str());
}

TEST(MetricsTextTest, NewClient_HasLossesOfZero) {
  const std::string text = text_of({{.locks = {{.lock = "a"}}}});
  EXPECT_EQ(count_of(text, "zklock_losses_total{lock=\"a\",reason="), 5U);
  EXPECT_TRUE(has_line(text, "zklock_losses_total{lock=\"a\",reason=\"forced\"} 0"));
  EXPECT_TRUE(
      has_line(text, "zklock_acquire_duration_seconds_count{lock=\"a\",outcome=\"granted\"} 0"));
  EXPECT_EQ(text.find("outcome=\"failed\""), std::string::npos);
  EXPECT_EQ(text.find("zklock_lease_remaining_seconds"), std::string::npos);
  EXPECT_EQ(text.find("zklock_leader"), std::string::npos);
}

TEST(MetricsTextTest, TwoClients_ShareEachFamily) {
  ClientMetrics first = sample_metrics();
  first.client = "main";
  ClientMetrics second = sample_metrics();
  second.client = "backup";
  const std::string text = text_of({first, second});
  EXPECT_EQ(count_of(text, "# HELP zklock_connected "), 1U);
  EXPECT_TRUE(has_line(text, "zklock_connected{client=\"main\"} 1"));
  EXPECT_TRUE(has_line(text, "zklock_waiters{client=\"backup\",lock=\"nightly\"} 2"));
  EXPECT_EQ(count_of(text, "zklock_build_info{"), 1U);
}

TEST(MetricsTextTest, NoClient_HasOnlyTheVersion) {
  const auto families = metric_families(std::vector<ClientMetrics>());
  ASSERT_EQ(families.size(), 1U);
  EXPECT_EQ(families[0].name, "zklock_build_info");
}

TEST(MetricsTextTest, HostileLabel_IsEscaped) {
  const std::string text = text_of({{.locks = {{.lock = "a\"b\\c\nd\xff"}}}});
  EXPECT_TRUE(has_line(text, "zklock_holds{lock=\"a\\\"b\\\\c?d?\"} 0"));
  EXPECT_EQ(metrics_text(std::vector<MetricFamily>{{.name = "x", .help = "back\\slash"}}),
            "# HELP x back\\\\slash\n# TYPE x gauge\n");
}

TEST(MetricsTextTest, SpecialNumbers_HaveTheirNames) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const std::vector<MetricFamily> families{
      {.name = "x",
       .samples = {{.value = kInfinite},
                   {.value = -kInfinite},
                   {.value = std::numeric_limits<double>::quiet_NaN()},
                   {.labels = {{"a", "b"}}, .value = 0.1},
                   {.value = 1e300}}}};
  const std::string text = metrics_text(families);
  for (const std::string line : {"x +Inf", "x -Inf", "x NaN", "x{a=\"b\"} 0.1", "x 1e+300"}) {
    EXPECT_TRUE(has_line(text, line)) << line;
  }
}

}  // namespace
}  // namespace zklock
