// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/observed_metrics.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "locks.h"

namespace zklock::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string metrics_of(const Snapshot& snapshot) {
  return observed_metrics(&snapshot, metric_paths(snapshot, {}), true, kNow);
}

TEST(ObservedMetrics, BeforeTheFirstPass_OnlyConnected) {
  EXPECT_EQ(observed_metrics(nullptr, {}, false, kNow),
            "# HELP zklock_observed_connected 1 if the session is connected, otherwise 0.\n"
            "# TYPE zklock_observed_connected gauge\n"
            "zklock_observed_connected 0\n");
}

// The checks of the monitoring files read the golden file.
TEST(ObservedMetrics, EachMetric_IsAsInGoldenFile) {
  Snapshot snapshot;
  snapshot.locks = {busy_lock("/a")};
  snapshot.locks[0].state.holders[0].held_since = kNow - 7500ms;
  snapshot.locks[0].next_sequence = 2147483647;
  snapshot.cycles.resize(3);
  snapshot.cycles[0].is_certain = true;
  snapshot.unreadable = {"/secret"};
  snapshot.duration = 250ms;
  snapshot.as_of = kNow - 2s;
  std::ifstream file(ZKLOCK_SOURCE_DIR "/tests/cli/views/observed_metrics.golden");
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(metrics_of(snapshot), golden.str());
}

TEST(ObservedMetrics, UnknownAgeOrElection_RaisesNoAlert) {
  Snapshot snapshot = snapshot_of({busy_lock("/a"), lock_at("/b"), busy_lock("/c")});
  add_holder(snapshot.locks[1], foreign("lock-0000000001"));
  snapshot.locks[2].state.holders[0].held_since = kNow - 7500ms;
  snapshot.locks[2].state.holders[0].is_candidate = true;
  const auto text = metrics_of(snapshot);
  EXPECT_THAT(text, HasSubstr("oldest_hold_seconds{path=\"/a\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("oldest_hold_seconds{path=\"/b\"} 60\n"));
  EXPECT_THAT(text, HasSubstr("oldest_hold_seconds{path=\"/c\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("oldest_wait_seconds{path=\"/c\"} 0\n"));
}

TEST(ObservedMetrics, HostilePaths_AreEscapedAndApart) {
  Snapshot snapshot;
  snapshot.locks = {busy_lock("/a\xe2\x80\xae"), busy_lock("/a\xe2\x80\xad"),
                    busy_lock("/a\\u202e"), busy_lock("/\xc3\xa4"), busy_lock("/a\"} 1\n\\")};
  const auto text = metrics_of(snapshot);
  EXPECT_THAT(text, HasSubstr(R"(holds{path="/a\\\"} 1\\n\\\\"} 1)"
                              "\n"));
  EXPECT_THAT(text, HasSubstr("holds{path=\"/a\\\\u202e\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("holds{path=\"/a\\\\u202d\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("holds{path=\"/a\\\\\\\\u202e\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("holds{path=\"/\xc3\xa4\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("\xe2\x80")));
}

TEST(ObservedMetrics, ManyLocks_ShareALabel) {
  static_assert(kMostMetricPaths == 200);
  const Snapshot snapshot = snapshot_of(busy_locks(1000, 1202));
  const auto text = metrics_of(snapshot);
  EXPECT_THAT(text, HasSubstr("waiters{path=\"/1199\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("/1200")));
  EXPECT_THAT(text, HasSubstr("waiters{path=\"other\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("oldest_wait_seconds{path=\"other\"} 10\n"));
}

TEST(MetricPaths, NewLock_TakesNoSeries) {
  Snapshot snapshot = snapshot_of(busy_locks(1000, 1199));
  const auto before = metric_paths(snapshot, {});
  snapshot.locks.insert(snapshot.locks.begin(), busy_lock("/0"));
  EXPECT_EQ(metric_paths(snapshot, before), before);
  snapshot.locks.pop_back();
  const auto after = metric_paths(snapshot, before);
  EXPECT_TRUE(after.contains("/0"));
  EXPECT_FALSE(after.contains("/1199"));
  EXPECT_EQ(after.size(), kMostMetricPaths);
}

}  // namespace
}  // namespace zklock::cli::testing
