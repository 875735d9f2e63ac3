// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_history.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "locks.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/live_feed.h"

namespace zklock::cli {
namespace {

using namespace std::chrono_literals;
using testing::add_holder;
using testing::add_waiting;
using testing::contender;
using testing::holder;
using testing::kNow;
using testing::lock_at;
using testing::snapshot_of;
using testing::with_token;
using Json = nlohmann::json;

/// A series of snapshots, two seconds apart. Times are seconds since its begin.
class Series {
 public:
  explicit Series(const HistoryBounds& bounds = {}) : history(bounds) {}

  void show(std::vector<SurveyedLock> locks, std::vector<std::string> unreadable = {},
            std::chrono::seconds duration = 0s) {
    Snapshot snapshot = snapshot_of(std::move(locks));
    snapshot.as_of = now;
    snapshot.duration = duration;
    snapshot.unreadable = std::move(unreadable);
    history.on_snapshot(snapshot, 6s);
    now += 2s;
  }
  std::vector<PastSpan> spans(const std::string& path = "/a") const {
    return history.past_of(path).spans;
  }
  std::int64_t since(const std::string& path = "/a") const {
    return seconds(history.past_of(path).since);
  }
  static std::int64_t seconds(WallTime time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time - kNow).count();
  }
  static std::optional<std::int64_t> seconds(std::optional<WallTime> time) {
    return time ? std::optional(seconds(*time)) : std::nullopt;
  }

  LockHistory history;
  WallTime now = kNow;
};

Participant hold(std::int64_t zxid) {
  return with_token(holder("lock-" + std::to_string(zxid), 1s), zxid);
}

SurveyedLock lock_of(const std::vector<std::int64_t>& holds, std::size_t waiting = 0,
                     std::string path = "/a") {
  SurveyedLock lock = lock_at(std::move(path));
  for (const auto zxid : holds) add_holder(lock, hold(zxid));
  for (std::size_t i = 0; i < waiting; ++i) add_waiting(lock, contender("lock-w", 1s));
  return lock;
}

SurveyedLock delayed() {
  SurveyedLock lock = lock_at("/a");
  lock.is_delayed = true;
  lock.state.lock_delay = 4s;
  return lock;
}

TEST(LockHistory, HoldEnds_HasItsLastAndFirstSnapshot) {
  Series series;
  series.show({});
  series.show({lock_of({7})});
  series.show({lock_of({7}, 3)});
  series.show({lock_of({7}, 1)});
  EXPECT_EQ(series.spans().at(0).ended, std::nullopt);
  series.show({});
  const auto spans = series.spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(Series::seconds(spans[0].begin), 2);
  EXPECT_FALSE(spans[0].is_exact);
  EXPECT_EQ(Series::seconds(spans[0].seen), 6);
  EXPECT_EQ(Series::seconds(spans[0].ended), 8);
  EXPECT_EQ(spans[0].most_waiting, 3U);
  EXPECT_EQ(spans[0].holder.host, "db7");
  EXPECT_EQ(series.since(), 0);
}

TEST(LockHistory, TimeOfTheGrant_ReplacesFirstSnapshot) {
  Series series;
  series.show({lock_of({7})});
  auto lock = lock_of({7});
  lock.state.holders[0].held_since = kNow - 5s;
  series.show({lock});
  EXPECT_EQ(Series::seconds(series.spans().at(0).begin), -5);
  EXPECT_TRUE(series.spans().at(0).is_exact);
  lock.state.holders[0].held_since = kNow + 100s;  // the clock of the servers is ahead
  series.show({lock});
  EXPECT_EQ(Series::seconds(series.spans().at(0).begin), 4);
}

TEST(LockHistory, NewToken_IsAnotherHold) {
  Series series;
  series.show({lock_of({7})});
  series.show({lock_of({8})});
  ASSERT_EQ(series.spans().size(), 2U);
  EXPECT_EQ(Series::seconds(series.spans()[0].ended), 2);
  EXPECT_EQ(series.spans()[1].holder.token.zxid, 8);
}

TEST(LockHistory, Downgrade_IsOneHold) {
  Series series;
  series.show({lock_of({7})});
  auto lock = lock_of({7});
  lock.state.holders[0].node = "__READ__0000000007";
  series.show({lock});
  ASSERT_EQ(series.spans().size(), 1U);
  EXPECT_EQ(series.spans()[0].holder.node, "__READ__0000000007");
}

TEST(LockHistory, HoldersWithoutTokens_AreKnownByZnode) {
  Series series;
  auto lock = lock_at("/a");
  add_holder(lock, testing::unreadable("lock-1"));
  add_holder(lock, testing::unreadable("lock-2"));
  series.show({lock});
  series.show({lock});
  EXPECT_EQ(series.spans().size(), 2U);
}

TEST(LockHistory, DelayAfterHold_IsASpanOfItsOwn) {
  Series series;
  series.show({lock_of({7})});
  series.show({delayed()});
  series.show({delayed()});
  series.show({lock_of({8})});
  const auto spans = series.spans();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(std::vector({spans[0].is_delay, spans[1].is_delay, spans[2].is_delay}),
            std::vector({false, true, false}));
  EXPECT_EQ(Series::seconds(spans[1].seen), 4);
  EXPECT_EQ(Series::seconds(spans[1].ended), 6);
}

TEST(LockHistory, Outage_IsAGapThatAHoldSurvives) {
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

TEST(LockHistory, LongPass_ReadsALockAtAnyTimeOfIt) {
  Series series;
  series.show({}, {}, 1s);
  EXPECT_EQ(series.since(), 1);
  series.show({lock_of({7})}, {}, 1s);
  series.show({}, {}, 3s);
  EXPECT_EQ(Series::seconds(series.spans().at(0).seen), 2);
  EXPECT_EQ(Series::seconds(series.spans().at(0).ended), 7);
  EXPECT_TRUE(series.history.gaps().empty());
  series.show({}, {}, 30s);  // it waited for a server
  ASSERT_EQ(series.history.gaps().size(), 1U);
  EXPECT_EQ(Series::seconds(series.history.gaps()[0].from), 4);
  EXPECT_EQ(Series::seconds(series.history.gaps()[0].to), 36);
}

TEST(LockHistory, ManyGaps_ForgetTheOldest) {
  Series series({.gaps = 2});
  for (int i = 0; i < 4; ++i) {
    series.show({});
    series.now += 60s;
  }
  EXPECT_EQ(series.history.gaps().size(), 2U);
  EXPECT_EQ(Series::seconds(series.history.since()), 62);
}

TEST(LockHistory, ClockSetBack_BeginsAnew) {
  Series series;
  series.show({lock_of({7})});
  series.now -= 100s;
  series.show({lock_of({7})});
  EXPECT_EQ(series.since(), -98);
  EXPECT_EQ(Series::seconds(series.spans().at(0).begin), -98);
}

TEST(LockHistory, UnreadablePath_EndsNothing) {
  Series series;
  series.show({lock_of({7}, 0, "/x/a"), lock_of({8}, 0, "/xy")});
  series.show({}, {"/x"});
  EXPECT_EQ(series.spans("/x/a").at(0).ended, std::nullopt);
  EXPECT_EQ(Series::seconds(series.spans("/xy").at(0).ended), 2);
  EXPECT_EQ(series.since("/x/a"), 2);
  EXPECT_EQ(series.since("/x/unseen"), 2);
  series.show({lock_of({9}, 0, "/x/b")});
  EXPECT_EQ(Series::seconds(series.spans("/x/a").at(0).ended), 4);
  EXPECT_EQ(series.since("/x/b"), 4);  // earlier holds are unknown
}

TEST(LockHistory, HoldersNotListed_EndNothing) {
  Series series;
  series.show({lock_of({1, 2})});
  auto cut = lock_of({2});
  cut.state.holding = 2;
  series.show({cut});
  EXPECT_EQ(series.spans().at(0).ended, std::nullopt);
  EXPECT_EQ(series.since(), 2);
}

TEST(LockHistory, BoundOfALock_ForgetsItsFirstEnds) {
  Series series({.spans_of_lock = 3});
  for (int i = 1; i <= 6; ++i) series.show({lock_of({i})});
  const auto spans = series.spans();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].holder.token.zxid, 4);
  EXPECT_EQ(series.since(), 6);  // the hold before it was seen to have ended
  series.show({lock_of({11, 12, 13, 14})});
  EXPECT_EQ(series.spans().size(), 3U);
  EXPECT_EQ(series.since(), 12);
}

TEST(LockHistory, BoundOfAll_ForgetsTheFirstEnds) {
  Series series({.spans = 10});
  for (int i = 1; i <= 30; ++i) {
    series.show({lock_of({i}, 0, "/" + std::to_string(i % 7))});
    std::size_t all = 0;
    for (const auto& [path, past] : series.history.pasts()) all += past.spans.size();
    EXPECT_LE(all, 10U);
    EXPECT_GE(all, std::min<std::size_t>(static_cast<std::size_t>(i), 8));
    EXPECT_LE(series.history.pasts().size(), 10U);
  }
  EXPECT_GT(Series::seconds(series.history.since()), 36);
  EXPECT_EQ(series.spans("/2").back().holder.token.zxid, 30);
}

TEST(LockHistory, MoreHoldsThanTheBound_KeepsSomeOpen) {
  Series series({.spans = 2});
  series.show({lock_of({1}, 0, "/a"), lock_of({2}, 0, "/b"), lock_of({3}, 0, "/c")});
  series.show({lock_of({1}, 0, "/a"), lock_of({2}, 0, "/b"), lock_of({3}, 0, "/c")});
  EXPECT_EQ(Series::seconds(series.spans("/a").at(0).begin), 0);
  EXPECT_EQ(series.history.pasts().size(), 2U);
  EXPECT_EQ(series.since("/c"), 2);
  Series none({.spans = 0});
  none.show({lock_of({1})});
  EXPECT_TRUE(none.history.pasts().empty());
}

TEST(LockHistory, Document_HasSpansAndGaps) {
  Series series;
  series.show({lock_of({7}, 2)});
  series.now += 60s;
  series.show({delayed()});
  const Json document = Json::parse(json::history("/", "/a", series.history));
  EXPECT_EQ(document["schema"], "zklock.history/1");
  EXPECT_EQ(document["gaps_ms"].size(), 1U);
  EXPECT_EQ(document["spans"][0]["kind"], "hold");
  EXPECT_EQ(document["spans"][0]["most_waiting"], 2);
  EXPECT_EQ(document["spans"][0]["holder"]["token"], "7.0");
  EXPECT_EQ(document["spans"][1]["kind"], "lock_delay");
  EXPECT_EQ(document["spans"][1]["holder"], nullptr);
  EXPECT_EQ(document["as_of_ms"].get<std::int64_t>() - document["since_ms"].get<std::int64_t>(),
            62'000);
}

TEST(LockHistory, PageGetsThePast_AndFreeLocks) {
  Series series;
  series.show({lock_of({1}), lock_of({2}, 0, "/b")});
  series.show({lock_of({2}, 0, "/b")});
  const auto texts = LiveFeed::texts_of(snapshot_of({lock_of({2}, 0, "/b")}), series.history);
  ASSERT_EQ(texts->locks.size(), 2U);
  EXPECT_EQ(texts->pass.shown, 1U);
  const Json free = Json::parse(texts->locks[0].json);
  EXPECT_EQ(free["path"], "/a");
  EXPECT_EQ(free["holding"], 0);
  EXPECT_EQ(free["past"][0][2].get<std::int64_t>() - free["past"][0][0].get<std::int64_t>(), 2000);
  EXPECT_EQ(Json::parse(texts->locks[1].json)["past"][0][1], nullptr);
}

}  // namespace
}  // namespace zklock::cli
