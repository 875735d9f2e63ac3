// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_selection.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "locks.h"

namespace zklock::cli::testing {
namespace {

Participant held_for(std::chrono::seconds time) {
  auto each = holder("lock-0000000001", 100s);
  each.held_since = kNow - time;
  return each;
}

/// /free has no contender; /short is held for 5 s; /long for 60 s; /queue has two that wait.
std::vector<SurveyedLock> locks() {
  std::vector<SurveyedLock> all{lock_at("/free"), lock_at("/long"), lock_at("/queue"),
                                lock_at("/short")};
  add_holder(all[1], held_for(60s));
  add_waiting(all[2], contender("lock-0000000001", 3s));
  auto other = contender("lock-0000000002", 2s);
  other.host = "web1";
  other.note = "nightly";
  add_waiting(all[2], other);
  add_holder(all[3], held_for(5s));
  return all;
}

std::string paths(const std::vector<SurveyedLock>& all, const RowFilter& filter, RowOrder order) {
  std::string text;
  for (const auto* row : lock_rows(all, filter, order, kNow)) text += row->path + " ";
  return text;
}

TEST(LockRows, Orders_AreStable) {
  const auto all = locks();
  EXPECT_EQ(paths(all, {}, RowOrder::path), "/free /long /queue /short ");
  EXPECT_EQ(paths(all, {}, RowOrder::held), "/long /short /free /queue ");
  EXPECT_EQ(paths(all, {}, RowOrder::waiting), "/queue /free /long /short ");
}

TEST(LockRows, HeldOver_NeedsAHolder) {
  const auto all = locks();
  EXPECT_EQ(paths(all, {.held_over = 10s}, RowOrder::path), "/long ");
  EXPECT_EQ(paths(all, {.held_over = 0s}, RowOrder::path), "/long /short ");
}

TEST(LockRows, UpperLimit_IsNoHoldAge) {
  auto all = locks();
  all[1].state.holders.front().held_since.reset();
  EXPECT_EQ(paths(all, {.held_over = 10s}, RowOrder::path), "");
  EXPECT_EQ(paths(all, {}, RowOrder::held), "/short /long /free /queue ");
}

TEST(LockRows, LedLock_HasNoHoldAge) {
  auto all = locks();
  all[1].state.holders.front().is_candidate = true;
  EXPECT_EQ(paths(all, {}, RowOrder::held), "/short /long /free /queue ");
  EXPECT_EQ(paths(all, {.held_over = 10s}, RowOrder::path), "/long ") << "a filter shows it";
}

TEST(LockRows, Host_IsOfAnyContender) {
  const auto all = locks();
  EXPECT_EQ(paths(all, {.host = "web1"}, RowOrder::path), "/queue ");
  EXPECT_EQ(paths(all, {.host = "db7"}, RowOrder::path), "/long /queue /short ");
}

}  // namespace
}  // namespace zklock::cli::testing
