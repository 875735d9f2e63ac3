// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_history.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lock_series.h"
#include "locks.h"
#include "zklock/cli/core/json_text.h"
#include "zklock/cli/core/page_events.h"

namespace zklock::cli::testing {
namespace {

using Json = nlohmann::json;

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
}

TEST(LockHistory, NextGrantIsExact_EndsTheHoldBefore) {
  for (const bool is_known_late : {false, true}) {
    Series series;
    series.show({lock_of({7})});
    auto next = lock_of({8});
    if (is_known_late) series.show({next});
    next.state.holders[0].held_since = kNow + 1s;
    series.show({next});
    EXPECT_EQ(Series::seconds(series.spans().at(0).ended), 1);
    EXPECT_EQ(Series::seconds(series.spans().at(1).begin), 1);
  }
}

TEST(LockHistory, NextGrantOfAReader_EndsNoOtherHold) {
  Series series;
  auto readers = lock_of({7});
  readers.state.holders[0].access = Access::shared;
  series.show({readers});
  auto next = lock_of({8});
  next.state.holders[0].access = Access::shared;
  next.state.holders[0].held_since = kNow + 1s;
  series.show({next});
  EXPECT_EQ(Series::seconds(series.spans().at(0).ended), 2);
}

TEST(LockHistory, GrantByAWrongClock_IsNotUsed) {
  for (const auto grant : {kNow + 1s, kNow + 6s}) {
    Series series;
    series.show({});
    series.show({});
    auto lock = lock_of({7});
    lock.state.holders[0].held_since = grant;
    for (int i = 0; i < 3; ++i) series.show({lock});
    EXPECT_EQ(Series::seconds(series.spans().at(0).begin), 4);
    EXPECT_FALSE(series.spans().at(0).is_exact);
  }
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
  add_holder(lock, unreadable("lock-1"));
  add_holder(lock, unreadable("lock-2"));
  series.show({lock});
  series.show({lock});
  EXPECT_EQ(series.spans().size(), 2U);
}

TEST(LockHistory, ZnodeBecomesReadable_IsOneHold) {
  Series series;
  auto lock = lock_at("/a");
  add_holder(lock, unreadable("lock-7"));
  series.show({lock});
  series.show({lock_of({7})});
  ASSERT_EQ(series.spans().size(), 1U);
  EXPECT_EQ(series.spans()[0].holder.token.zxid, 7);
  series.show({lock});
  EXPECT_EQ(series.spans().size(), 1U);
}

TEST(LockHistory, TokenReturns_IsOneHold) {
  Series series;
  series.show({lock_of({7})});
  series.show({});  // the pass missed a znode that was replaced
  EXPECT_EQ(Series::seconds(series.spans().at(0).ended), 2);
  series.show({lock_of({7})});
  ASSERT_EQ(series.spans().size(), 1U);
  EXPECT_EQ(series.spans()[0].ended, std::nullopt);
  EXPECT_EQ(series.free_since(), std::nullopt);
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

TEST(LockHistory, LongPass_ReadsALockAtAnyTimeOfIt) {
  Series series;
  series.show({}, {}, 1s);
  EXPECT_EQ(series.since(), 1);
  series.show({lock_of({7})}, {}, 1s);  // from 3 to 4
  EXPECT_EQ(Series::seconds(series.spans().at(0).begin), 4);
  EXPECT_EQ(Series::seconds(series.spans().at(0).seen), 4);
  series.show({}, {}, 3s);
  EXPECT_EQ(Series::seconds(series.spans().at(0).ended), 9);
  EXPECT_TRUE(series.history.gaps().empty());
  series.show({}, {}, 30s);  // it waited for a server
  ASSERT_EQ(series.history.gaps().size(), 1U);
  EXPECT_EQ(Series::seconds(series.history.gaps()[0].from), 6);
  EXPECT_EQ(Series::seconds(series.history.gaps()[0].to), 41);
}

TEST(LockHistory, GrantDuringAPass_IsExact) {
  Series series;
  series.show({});
  auto lock = lock_of({7});
  lock.state.holders[0].held_since = kNow + 4s;
  series.show({lock}, {}, 3s);  // from 2 to 5
  EXPECT_EQ(Series::seconds(series.spans().at(0).begin), 4);
  EXPECT_TRUE(series.spans().at(0).is_exact);
  EXPECT_EQ(Series::seconds(series.spans().at(0).seen), 4);
}

TEST(LockHistory, OverlappingHolds_AreFreeSinceTheLastEnd) {
  Series series;
  series.show({});
  series.show({lock_of({1})});
  series.show({lock_of({1, 2})});
  series.show({lock_of({1})});
  EXPECT_EQ(series.free_since(), std::nullopt);
  series.show({});
  EXPECT_EQ(series.free_since(), 8);
  EXPECT_EQ(PageEvents::texts_of(snapshot_of({}), series.history)->locks.size(), 1U);
  series.show({}, {"/a"});
  EXPECT_EQ(series.free_since(), std::nullopt);
  EXPECT_TRUE(PageEvents::texts_of(snapshot_of({}), series.history)->locks.empty());
}

TEST(LockHistory, Document_SaysSinceWhenItKnows) {
  Series series;
  series.show({});
  series.show({lock_of({7})});
  const Json document = Json::parse(json::history("/", "/a", series.history));
  EXPECT_EQ(document["as_of_ms"].get<std::int64_t>() - document["since_ms"].get<std::int64_t>(),
            2'000);
}

TEST(LockHistory, PageGetsThePast_AndFreeLocks) {
  Series series;
  series.show({lock_of({1}), lock_of({2}, 0, "/b")});
  series.show({lock_of({2}, 0, "/b")});
  const auto texts = PageEvents::texts_of(snapshot_of({lock_of({2}, 0, "/b")}), series.history);
  ASSERT_EQ(texts->locks.size(), 2U);
  EXPECT_EQ(Json::parse(texts->pass)["shown"], 1);
  const Json free = Json::parse(texts->locks[0].json);
  EXPECT_EQ(free["path"], "/a");
  EXPECT_EQ(free["holding"], 0);
  EXPECT_EQ(free["past"][0][2].get<std::int64_t>() - free["past"][0][0].get<std::int64_t>(), 2000);
  EXPECT_EQ(Json::parse(texts->locks[1].json)["past"][0][1], nullptr);
}

}  // namespace
}  // namespace zklock::cli::testing
