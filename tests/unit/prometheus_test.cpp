// SPDX-License-Identifier: Apache-2.0
// The adapter to prometheus-cpp. The tests need no server.
#include "zklock/prometheus.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include "sample_metrics.h"
#include "zklock/client_options.h"

namespace zklock {
namespace {

using Lines = std::vector<std::string>;

// Returns the number in one form: prometheus-cpp writes some in another one.
std::string number_in(const std::string& text) {
  return std::to_string(std::stod(text));
}

// Returns the lines in the order of the alphabet: prometheus-cpp has another in histograms.
Lines sorted_lines(const std::string& text) {
  Lines lines;
  std::istringstream input(text);
  for (std::string line; std::getline(input, line);) {
    if (!line.starts_with('#')) {
      const auto value = line.rfind(' ') + 1;
      line.replace(value, std::string::npos, number_in(line.substr(value)));
      const auto bound = line.find("le=\"");
      if (bound != std::string::npos) {
        const auto begin = bound + 4;
        const auto size = line.find('"', begin) - begin;
        line.replace(begin, size, number_in(line.substr(begin, size)));
      }
    }
    lines.push_back(std::move(line));
  }
  std::ranges::sort(lines);
  return lines;
}

std::string serialized(const std::vector<prometheus::MetricFamily>& families) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

// Returns the lines that say whether a client is connected.
Lines lines_of_clients(const PrometheusCollectable& locks) {
  Lines lines = sorted_lines(serialized(locks.Collect()));
  std::erase_if(lines,
                [](const std::string& line) { return !line.starts_with("zklock_connected"); });
  return lines;
}

ClientOptions quiet() {
  ClientOptions options;
  options.hosts = "127.0.0.1:1";
  options.log_sink = [](LogLevel, std::string_view) {};
  return options;
}

TEST(PrometheusTest, EachMetric_IsAsInText) {
  ClientMetrics first = testing::sample_metrics();
  first.client = "main";
  ClientMetrics second = testing::sample_metrics();
  second.client = R"(back\up")";
  const auto families = metric_families(std::vector{first, second});
  EXPECT_EQ(sorted_lines(serialized(prometheus_families(families))),
            sorted_lines(metrics_text(families)));
}

TEST(PrometheusTest, Clients_AreCollectedUntilRemoved) {
  const Client first(quiet());
  const Client second(quiet());
  PrometheusCollectable locks;
  locks.add("main", first);
  locks.add("", second);
  EXPECT_EQ(lines_of_clients(locks),
            Lines({"zklock_connected 0.000000", "zklock_connected{client=\"main\"} 0.000000"}));
  locks.remove(second);
  EXPECT_EQ(lines_of_clients(locks), Lines({"zklock_connected{client=\"main\"} 0.000000"}));
  locks.remove(first);
  EXPECT_EQ(lines_of_clients(locks), Lines());
}

}  // namespace
}  // namespace zklock
