// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/observed_metrics.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "locks.h"

namespace zklock::cli {
namespace {

using namespace std::chrono_literals;
using testing::add_holder;
using testing::busy_lock;
using testing::foreign;
using ::testing::HasSubstr;
using testing::kNow;
using testing::lock_at;
using ::testing::Not;

TEST(ObservedMetrics, BeforeTheFirstPass_OnlyConnected) {
  EXPECT_EQ(observed_metrics(nullptr, false, kNow),
            "# HELP zklock_observed_connected 1 if the session is connected, otherwise 0.\n"
            "# TYPE zklock_observed_connected gauge\n"
            "zklock_observed_connected 0\n");
}

TEST(ObservedMetrics, BusyLock_HasItsValues) {
  Snapshot snapshot;
  snapshot.locks = {busy_lock("/a")};
  snapshot.locks[0].state.holders[0].held_since = kNow - 7500ms;
  const auto text = observed_metrics(&snapshot, true, kNow);
  EXPECT_THAT(text, HasSubstr("\nzklock_observed_holds{path=\"/a\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nzklock_observed_waiters{path=\"/a\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nzklock_observed_oldest_hold_seconds{path=\"/a\"} 7.5\n"));
  EXPECT_THAT(text, HasSubstr("\nzklock_observed_oldest_wait_seconds{path=\"/a\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("\nzklock_observed_locks 1\n"));
  EXPECT_THAT(text, HasSubstr("\nzklock_observed_cycles{kind=\"certain\"} 0\n"));
}

TEST(ObservedMetrics, UnknownAge_RaisesNoAlert) {
  Snapshot snapshot;
  snapshot.locks = {busy_lock("/a"), lock_at("/b")};
  add_holder(snapshot.locks[1], foreign("lock-0000000001"));
  const auto text = observed_metrics(&snapshot, true, kNow);
  EXPECT_THAT(text, HasSubstr("oldest_hold_seconds{path=\"/a\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("oldest_hold_seconds{path=\"/b\"} 60\n"));
}

TEST(ObservedMetrics, HostilePath_IsEscaped) {
  Snapshot snapshot;
  snapshot.locks = {busy_lock("/a\"} 1\n\\")};
  EXPECT_THAT(observed_metrics(&snapshot, true, kNow),
              HasSubstr("holds{path=\"/a\\\"} 1\\n\\\\\"} 1\n"));
}

TEST(ObservedMetrics, ManyLocks_ShareALabel) {
  Snapshot snapshot;
  for (std::size_t i = 0; i < kMostMetricPaths + 3; ++i) {
    snapshot.locks.push_back(busy_lock("/" + std::to_string(1000 + i)));
  }
  const auto text = observed_metrics(&snapshot, true, kNow);
  EXPECT_THAT(text, HasSubstr("waiters{path=\"/1199\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("/1200")));
  EXPECT_THAT(text, HasSubstr("waiters{path=\"other\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("oldest_wait_seconds{path=\"other\"} 10\n"));
}

}  // namespace
}  // namespace zklock::cli
