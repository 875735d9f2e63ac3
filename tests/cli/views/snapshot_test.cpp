// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/snapshot.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "locks.h"

namespace zklock::cli::testing {
namespace {

constexpr std::size_t kMostContenders = 10;

Participant waiting(std::int64_t zxid) {
  return with_token(contender("lock-0000000002", 1s), zxid);
}
Participant holding(std::int64_t zxid) {
  return with_token(holder("lock-0000000001", 1s), zxid);
}

SurveyedLock lock_with(std::string path, std::int64_t holder_zxid, std::int64_t waiter_zxid) {
  auto lock = lock_at(std::move(path));
  add_holder(lock, holding(holder_zxid));
  add_waiting(lock, waiting(waiter_zxid));
  return lock;
}

LockCycle cycle_of(bool is_certain) {
  LockCycle cycle;
  cycle.steps = {{"/a", waiting(12), holding(11)}, {"/b", waiting(22), holding(21)}};
  cycle.is_certain = is_certain;
  return cycle;
}

TEST(ConfirmedCycles, SameZnodes_ChangeNothing) {
  const std::vector<SurveyedLock> second{lock_with("/a", 11, 12), lock_with("/b", 21, 22)};
  for (const bool is_certain : {true, false}) {
    const auto found = confirmed_cycles({cycle_of(is_certain)}, second);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().is_certain, is_certain);
  }
}

TEST(ConfirmedCycles, AnotherToken_IsOnlyPossible) {
  auto granted = lock_at("/b");
  add_holder(granted, holding(21));
  add_holder(granted, waiting(22));
  for (const auto& second : {std::vector{lock_with("/a", 11, 12), lock_with("/b", 21, 99)},
                             std::vector{lock_with("/a", 99, 12), lock_with("/b", 21, 22)},
                             std::vector{lock_with("/a", 11, 12), granted},
                             std::vector{lock_with("/a", 11, 12)}, std::vector<SurveyedLock>{}}) {
    EXPECT_FALSE(confirmed_cycles({cycle_of(true)}, second).front().is_certain);
  }
}

TEST(CycleMarks, PathInTwoCycles_CertainWins) {
  LockCycle other;
  other.steps = {{"/b", waiting(1), holding(2)}, {"/c", waiting(3), holding(4)}};
  const auto marks = cycle_marks(std::vector{other, cycle_of(true)});
  ASSERT_EQ(marks.size(), 3U);
  EXPECT_TRUE(mark_of(marks, "/a")->is_certain);
  EXPECT_TRUE(mark_of(marks, "/b")->is_certain);
  EXPECT_FALSE(mark_of(marks, "/c")->is_certain);
  EXPECT_EQ(mark_of(marks, "/d"), nullptr);
  EXPECT_EQ(mark_of(marks, "/b")->paths, (std::vector<std::string>{"/a", "/b"}));
}

/// A hostile client can forge cycles of any length.
LockCycle huge_cycle() {
  LockCycle cycle;
  cycle.is_certain = true;
  for (int i = 0; i < 50'000; ++i) {
    cycle.steps.push_back({"/" + std::to_string(i), waiting(1), holding(2)});
  }
  return cycle;
}

TEST(CycleMarks, HugeCycle_SharesAShortMark) {
  const auto marks = cycle_marks(std::vector{huge_cycle()});
  ASSERT_EQ(marks.size(), 50'000U);
  EXPECT_EQ(mark_of(marks, "/0"), mark_of(marks, "/49999"));
  EXPECT_EQ(mark_of(marks, "/0")->paths.size(), 20U);
}

TEST(PathsToConfirm, HugeCycle_IsNotReadAgain) {
  const auto paths = paths_to_confirm(std::vector{huge_cycle(), cycle_of(false), cycle_of(true)});
  EXPECT_EQ(paths, (std::set<std::string>{"/a", "/b"}));
}

TEST(Snapshot, Pass_CoversItsRootAndBelow) {
  EXPECT_TRUE(is_below("/jobs", "/jobs"));
  EXPECT_TRUE(is_below("/jobs", "/jobs/a"));
  EXPECT_FALSE(is_below("/jobs", "/jobsa"));
  EXPECT_FALSE(is_below("/jobs", "/"));
  EXPECT_TRUE(is_below("/", "/"));
  EXPECT_TRUE(is_below("/", "/zookeepers"));
  EXPECT_FALSE(is_below("/", "/zookeeper/quota"));
  EXPECT_FALSE(is_below("/", "jobs"));
  EXPECT_FALSE(is_below("/", ""));
  EXPECT_TRUE(is_below("/zookeeper", "/zookeeper/quota"));
}

TEST(Snapshot, ManyContenders_LaterListsAreShort) {
  Snapshot snapshot;
  SurveyPage page;
  for (int i = 0; i < 3; ++i) {
    auto lock = lock_at("/" + std::to_string(i));
    for (int n = 0; n < 2; ++n) add_holder(lock, holding(1));
    for (int n = 0; n < 5; ++n) add_waiting(lock, waiting(2));
    page.locks.push_back(std::move(lock));
  }
  add_page(snapshot, std::move(page), kMostContenders);
  EXPECT_EQ(snapshot.locks[1].waiters.size(), 5U);
  EXPECT_EQ(snapshot.locks[2].waiters.size(), 1U);
  EXPECT_EQ(snapshot.locks[2].state.holders.size(), 1U);
  EXPECT_EQ(snapshot.locks[2].state.waiting, 5U);
}

TEST(Snapshot, NothingVisited_HasNoRoot) {
  Snapshot snapshot;
  EXPECT_FALSE(snapshot.has_root());
  SurveyPage page;
  page.visited = 1;
  add_page(snapshot, page, kMostContenders);
  EXPECT_TRUE(snapshot.has_root());
  Snapshot secret;
  secret.unreadable = {"/"};
  EXPECT_TRUE(secret.has_root());
  EXPECT_EQ(secret.unread(), 1U);
}

TEST(Snapshot, PagesInAnyOrder_AreSorted) {
  Snapshot snapshot;
  SurveyPage page;
  page.locks = {lock_at("/b"), lock_at("/a")};
  page.unreadable = {"/z", "/y"};
  add_page(snapshot, page, kMostContenders);
  add_page(snapshot,
           {.locks = {lock_at("/a0")}, .empty_znodes = {}, .unreadable = {}, .too_deep = {}},
           kMostContenders);
  complete(snapshot, {cycle_of(true)});
  ASSERT_EQ(snapshot.locks.size(), 3U);
  EXPECT_EQ(snapshot.locks[1].path, "/a0");
  EXPECT_EQ(snapshot.unreadable.front(), "/y");
  EXPECT_EQ(snapshot.cycles.size(), 1U);
  EXPECT_TRUE(mark_of(snapshot.marks, "/a")->is_certain);
}

}  // namespace
}  // namespace zklock::cli::testing
