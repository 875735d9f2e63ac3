// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "locks.h"
#include "zklock/cli/core/lock_selection.h"

namespace zklock::cli::testing {
namespace {

using Paths = std::vector<std::string>;

SurveyedLock held_for(std::string path, std::chrono::seconds age) {
  SurveyedLock lock = lock_at(std::move(path));
  add_holder(lock, holder("lock-0000000001", age));
  lock.state.holders.front().held_since = kNow - age;
  return lock;
}

/// A lock whose holder holds for a second only.
SurveyedLock waits_for(std::string path, std::chrono::seconds age) {
  SurveyedLock lock = held_for(std::move(path), 1s);
  add_waiting(lock, contender("lock-0000000002", age));
  return lock;
}

/// Returns the locks /1000 to /1099, each held for a minute.
std::vector<SurveyedLock> hundred_locks() {
  std::vector<SurveyedLock> locks;
  for (int i = 1000; i < 1100; ++i) locks.push_back(held_for("/" + std::to_string(i), 60s));
  return locks;
}

CycleMarks marks_of(const Paths& certain, const Paths& possible = {}) {
  CycleMarks marks;
  for (const auto& path : certain) {
    marks[path] = std::make_shared<CycleMark>(CycleMark{.is_certain = true, .paths = certain});
  }
  for (const auto& path : possible) {
    marks[path] = std::make_shared<CycleMark>(CycleMark{.is_certain = false, .paths = possible});
  }
  return marks;
}

Paths chosen(const std::vector<SurveyedLock>& locks, std::size_t most,
             const CycleMarks& marks = {}) {
  Paths paths;
  const LockRows all = lock_rows(locks, {}, RowOrder::path, kNow);
  for (const auto* row : most_important(all, marks, most, kNow)) paths.push_back(row->path);
  return paths;
}

TEST(LockChoice, AllFitOrNoneHasAnAge_TheFirstAreChosen) {
  const std::vector locks{held_for("/a", 1s), lock_at("/b")};
  EXPECT_EQ(chosen(locks, 2), (Paths{"/a", "/b"}));
  EXPECT_EQ(chosen(locks, 3), (Paths{"/a", "/b"}));
  EXPECT_EQ(chosen({}, 3), Paths{});
  EXPECT_EQ(chosen({lock_at("/a"), lock_at("/b"), lock_at("/c")}, 2), (Paths{"/a", "/b"}));
}

TEST(LockChoice, DeadlockLastByPath_IsChosen) {
  auto locks = hundred_locks();
  locks.push_back(held_for("/y", 1s));
  locks.push_back(held_for("/z", 1s));
  EXPECT_EQ(chosen(locks, 3, marks_of({"/z"})), (Paths{"/1000", "/1001", "/z"}));
  EXPECT_EQ(chosen(locks, 2, marks_of({"/z"}, {"/y"})), (Paths{"/y", "/z"}));
  EXPECT_EQ(chosen(locks, 1, marks_of({"/z"}, {"/y"})), Paths{"/z"});
}

TEST(LockChoice, OldestHoldAndLongestWait_AreChosen) {
  auto locks = hundred_locks();
  locks.push_back(waits_for("/y", 2h));
  locks.push_back(held_for("/z", 1h));
  EXPECT_EQ(chosen(locks, 2), (Paths{"/y", "/z"}));
  EXPECT_EQ(chosen(locks, 3), (Paths{"/1000", "/y", "/z"}));
}

TEST(LockChoice, ManyOldHolds_LeaveHalfToTheWaits) {
  std::vector<SurveyedLock> locks;
  for (int i = 10; i < 30; ++i) locks.push_back(held_for("/" + std::to_string(i), 5h));
  for (int i = 30; i < 50; ++i) locks.push_back(waits_for("/" + std::to_string(i), 10s));
  EXPECT_EQ(chosen(locks, 6), (Paths{"/10", "/11", "/12", "/30", "/31", "/32"}));
}

TEST(LockChoice, LockWithBothAges_IsChosenOnce) {
  auto locks = hundred_locks();
  locks.push_back(waits_for("/y", 2h));
  locks.back().state.holders.front().held_since = kNow - 3h;
  EXPECT_EQ(chosen(locks, 3), (Paths{"/1000", "/1001", "/y"}));
}

TEST(LockChoice, LongLeadership_DoesNotHideAHold) {
  std::vector<SurveyedLock> locks;
  for (const char* const path : {"/a", "/b", "/c"}) {
    locks.push_back(waits_for(path, 48h));
    locks.back().state.holders.front().is_candidate = true;
    locks.back().state.holders.front().held_since = kNow - 48h;
  }
  locks.push_back(held_for("/z", 60s));
  EXPECT_EQ(chosen(locks, 2), (Paths{"/a", "/z"}));
}

TEST(LockChoice, OtherLocks_AreIgnored) {
  const std::vector locks{held_for("/a", 9h), held_for("/b", 1s), held_for("/c", 1h)};
  const LockRows rows{&locks[1], &locks[2]};
  EXPECT_EQ(most_important(rows, marks_of({"/a"}), 1, kNow), LockRows{&locks[2]});
}

}  // namespace
}  // namespace zklock::cli::testing
