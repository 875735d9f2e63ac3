// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lock_series.h"
#include "locks.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/lock_history.h"

namespace zklock::cli::testing {
namespace {

using Json = nlohmann::json;

TEST(UnknownPast, Outage_IsAGapThatAHoldSurvives) {
  Series series;
  series.show({lock_of({7}), lock_of({9}, 0, "/b")});
  series.now += 60s;
  series.show({lock_of({7})});
  ASSERT_EQ(series.history.gaps().size(), 1U);
  EXPECT_EQ(Series::seconds(series.history.gaps()[0].from), 0);
  EXPECT_EQ(Series::seconds(series.history.gaps()[0].to), 62);
  EXPECT_EQ(series.spans().at(0).ended, std::nullopt);
  EXPECT_EQ(Series::seconds(series.spans("/b").at(0).seen), 0);
  EXPECT_EQ(Series::seconds(series.spans("/b").at(0).ended), 62);
}

TEST(UnknownPast, ManyGaps_ForgetTheOldest) {
  Series series({.gaps = 2});
  for (int i = 0; i < 4; ++i) {
    series.show({});
    series.now += 60s;
  }
  EXPECT_EQ(series.history.gaps().size(), 2U);
  EXPECT_EQ(Series::seconds(series.history.since()), 62);
}

TEST(UnknownPast, ClockSetBack_BeginsAnew) {
  Series series;
  series.show({lock_of({7})});
  series.now -= 100s;
  series.show({lock_of({7})});
  EXPECT_EQ(series.since(), -98);
  EXPECT_EQ(Series::seconds(series.spans().at(0).begin), -98);
  series.show({lock_of({8})}, {}, 5s);
  series.now -= 4s;  // it is within the last pass
  series.show({lock_of({8})});
  EXPECT_EQ(series.spans().size(), 1U);
}

TEST(UnknownPast, UnreadablePath_EndsNothing) {
  Series series;
  series.show({lock_of({7}, 0, "/x/a"), lock_of({8}, 0, "/xy")});
  series.show({}, {"/x"});
  EXPECT_EQ(series.spans("/x/a").at(0).ended, std::nullopt);
  EXPECT_EQ(Series::seconds(series.spans("/xy").at(0).ended), 2);
  EXPECT_EQ(series.since("/x/a"), 2);
  EXPECT_EQ(series.since("/x/unseen"), 2);
  series.show({lock_of({9}, 0, "/x/b")});
  EXPECT_EQ(Series::seconds(series.spans("/x/a").at(0).ended), 4);
  EXPECT_EQ(series.since("/x/a"), 4);
  EXPECT_EQ(series.since("/x/b"), 4);  // earlier holds are unknown
}

TEST(UnknownPast, PathReadAgain_IsUnknownBefore) {
  Series series;
  series.show({});
  series.show({}, {"/x"});
  for (int i = 0; i < 3; ++i) series.show({});
  EXPECT_EQ(series.since("/x/a"), 4);
  EXPECT_EQ(series.since("/y"), 0);
  series.show({lock_of({9}, 0, "/x/b")});
  EXPECT_EQ(series.since("/x/b"), 4);
  Series few({.unread = 1});
  few.show({});
  few.show({}, {"/x", "/y"});
  EXPECT_EQ(few.since("/z"), 0);
  few.show({});
  EXPECT_EQ(few.since("/z"), 4);
}

TEST(UnknownPast, GrantBeforeAnUnreadPass_IsUsed) {
  Series series;
  series.show({});
  series.show({});
  series.show({}, {"/a"});
  auto lock = lock_of({7});
  lock.state.holders[0].held_since = kNow + 1s;
  series.show({lock});
  EXPECT_EQ(Series::seconds(series.spans().at(0).begin), 1);
  EXPECT_TRUE(series.spans().at(0).is_exact);
}

TEST(UnknownPast, TooDeep_IsOnlyBelowThePath) {
  Series series;
  series.show({lock_of({7}), lock_of({8}, 0, "/a/b/c")});
  Snapshot deep = snapshot_of({});
  deep.as_of = series.now;
  deep.too_deep = {"/a"};
  series.show_snapshot(deep);
  EXPECT_EQ(Series::seconds(series.spans().at(0).ended), 2);
  EXPECT_EQ(series.spans("/a/b/c").at(0).ended, std::nullopt);
}

TEST(UnknownPast, LongNames_AreNotRemembered) {
  Series series;
  const std::string name(2'000, 'x');
  series.show({lock_of({7}, 0, "/" + name)}, {"/y" + name});
  series.show({});
  EXPECT_TRUE(series.history.pasts().empty());
  EXPECT_EQ(series.since("/" + name), 2);
  auto lock = lock_of({7});
  lock.state.holders[0].node += name;
  series.show({lock});
  EXPECT_TRUE(series.spans().empty());
  EXPECT_EQ(series.since(), 4);
}

TEST(UnknownPast, NoPath_HasAPast) {
  Series series;
  series.show({});
  EXPECT_EQ(series.since("a"), 0);
  EXPECT_EQ(series.since(""), 0);
  EXPECT_EQ(series.since("/"), 0);
}

TEST(UnknownPast, HoldersNotListed_EndNothing) {
  Series series;
  series.show({lock_of({1, 2})});
  auto cut = lock_of({2});
  cut.state.holding = 2;
  series.show({cut});
  EXPECT_EQ(series.spans().at(0).ended, std::nullopt);
  EXPECT_EQ(series.since(), 2);
  const Json lock = Json::parse(
      json::live_lock(R"({"path":"/a"})", series.history.past_of("/a"), series.history));
  EXPECT_TRUE(lock["past"][0][1].is_number() && lock["past"][0][2].is_null());
  EXPECT_TRUE(lock["past"][1][1].is_null() && lock["past"][1][2].is_null());
  series.show({lock_of({1, 3})});  // the third may have begun before
  EXPECT_EQ(series.since(), 4);
  EXPECT_EQ(series.spans().size(), 3U);
  series.show({});
  EXPECT_EQ(series.since(), 4);
}

/// Returns a semaphore whose permit count is unreadable, so that no holder is known.
SurveyedLock without_count(std::string path) {
  SurveyedLock lock = lock_at(std::move(path));
  add_waiting(lock, contender("lock-w", 1s));
  lock.waiters[0].access = Access::permits;
  return lock;
}

TEST(UnknownPast, PermitCountUnreadable_EndsNothing) {
  Series series;
  auto semaphore = lock_of({1});
  semaphore.permits = 1;
  semaphore.waiters = without_count("/a").waiters;
  series.show({semaphore});
  series.show({without_count("/a")});
  EXPECT_EQ(series.spans().at(0).ended, std::nullopt);
  EXPECT_EQ(series.since(), 2);
  series.show({semaphore});
  EXPECT_EQ(series.spans().size(), 1U);
}

TEST(UnknownPast, PermitCountUnreadableFromTheFirst_IsNotFree) {
  Series series({.spans = 3});
  series.show({});
  for (int i = 1; i <= 9; ++i) {
    series.show({without_count("/" + std::to_string(i))});
    EXPECT_EQ(series.since("/" + std::to_string(i)), 2 * i);
    EXPECT_LE(series.history.pasts().size(), 4U);
  }
  EXPECT_EQ(series.since("/8"), 18);  // the first pass that read it again
}

TEST(UnknownPast, BoundOfALock_ForgetsItsFirstEnds) {
  Series series({.spans_of_lock = 3});
  for (int i = 1; i <= 6; ++i) series.show({lock_of({i})});
  const auto spans = series.spans();
  ASSERT_EQ(spans.size(), 4U);  // one lasts
  EXPECT_EQ(spans[0].holder.token.zxid, 3);
  EXPECT_EQ(series.since(), 4);  // the hold before it was seen to have ended
  for (int i = 0; i < 3; ++i) series.show({lock_of({11, 12, 13, 14})});
  EXPECT_EQ(series.spans().size(), 7U);
  EXPECT_EQ(series.spans().at(3).holder.token.zxid, 11);
  EXPECT_EQ(series.since(), 6);
}

TEST(UnknownPast, SpansForgottenAfterAnUnreadTime_LeaveItUnknown) {
  Series series({.spans_of_lock = 1});
  series.show({lock_of({1})});
  series.show({lock_of({2})});
  series.show({lock_of({2})});
  series.show({}, {"/a"});
  EXPECT_EQ(series.spans().at(0).holder.token.zxid, 2);
  EXPECT_EQ(series.since(), 6);
}

TEST(UnknownPast, HoldersNeverListedAgain_AreBounded) {
  Series series({.spans_of_lock = 3});
  for (int i = 1; i <= 9; ++i) {
    auto cut = lock_of({i});
    cut.state.holding = 2;
    series.show({cut});
  }
  EXPECT_EQ(series.spans().size(), 4U);
}

TEST(UnknownPast, BoundOfAll_ForgetsTheFirstEnds) {
  Series series({.spans = 10});
  for (int i = 1; i <= 30; ++i) {
    series.show({lock_of({i}, 0, "/" + std::to_string(i % 7))});
    std::size_t all = 0;
    for (const auto& [path, past] : series.history.pasts()) all += past.spans.size();
    EXPECT_LE(all, 11U);  // one lasts
    EXPECT_LE(series.history.pasts().size(), 11U);
  }
  EXPECT_GT(Series::seconds(series.history.since()), 36);
  EXPECT_EQ(series.spans("/2").back().holder.token.zxid, 30);
}

TEST(UnknownPast, HoldsThatLast_AreNotBounded) {
  Series series({.spans = 2});
  for (int i = 0; i < 3; ++i) {
    series.show({lock_of({1}, 0, "/a"), lock_of({2}, 0, "/b"), lock_of({3}, 0, "/c")});
  }
  EXPECT_EQ(series.history.pasts().size(), 3U);
  EXPECT_EQ(Series::seconds(series.history.since()), 0);
  series.show({lock_of({2}, 0, "/b"), lock_of({3}, 0, "/c")});
  series.show({lock_of({3}, 0, "/c")});
  series.show({});
  EXPECT_EQ(series.history.pasts().size(), 2U);
  EXPECT_EQ(Series::seconds(series.history.since()), 6);
  Series none({.spans = 0});
  none.show({lock_of({1})});
  EXPECT_TRUE(none.history.pasts().empty());
}

}  // namespace
}  // namespace zklock::cli::testing
