// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/findings.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "locks.h"

namespace zklock::cli::testing {
namespace {

const std::string kKazoo = "0123456789abcdef0123456789abcdef__lock__0000000001";
const std::string kCurator = "_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000001";

std::string kinds(const Snapshot& snapshot, const std::optional<Duration>& held_over = {}) {
  std::string text;
  for (const Finding& each : findings(snapshot, held_over, kNow)) {
    text += std::string(each.kind) + " ";
  }
  return text;
}

TEST(Findings, SoundLock_HasNone) {
  EXPECT_EQ(kinds(snapshot_of({busy_lock("/a")}), 61s), "");
  EXPECT_EQ(exit_code_of(Level::ok), 0);
  EXPECT_EQ(exit_code_of(Level::notice), 0);
  EXPECT_EQ(exit_code_of(Level::warning), 1);
  EXPECT_EQ(exit_code_of(Level::warning, Level::failure), 0);
  EXPECT_EQ(exit_code_of(Level::failure, Level::failure), 2);
}

TEST(Findings, CertainCycle_IsTheFirstFailure) {
  Snapshot snapshot = snapshot_of({busy_lock("/a")});
  snapshot.unreadable = {"/secret"};
  LockCycle cycle;
  cycle.is_certain = true;
  cycle.steps = {{"/a", contender("lock-0000000002", 1s), holder("lock-0000000001", 1s)}};
  snapshot.cycles = {cycle};
  const auto found = findings(snapshot, {}, kNow);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].text, "deadlock: db7 pid 812 (billing) waits at /a for db7 pid 812 (billing)");
  EXPECT_EQ(found[0].level, Level::failure);
  EXPECT_EQ(exit_code_of(found[0].level), 2);
  snapshot.cycles.front().is_certain = false;
  EXPECT_EQ(exit_code_of(findings(snapshot, {}, kNow)[0].level), 1);
}

TEST(Findings, HeldOver_SaysWhatIsKnown) {
  const auto text = [](const SurveyedLock& lock) {
    const auto found = findings(snapshot_of({lock}), 60s, kNow);
    return found.empty() ? std::string() : found.front().text;
  };
  auto lock = busy_lock("/a");
  EXPECT_EQ(text(lock), "") << "it may have waited all that time";
  lock.state.holders.front().held_since = kNow - 59s;
  EXPECT_EQ(text(lock), "");
  lock.state.holders.front().held_since = kNow - 60s;
  EXPECT_EQ(text(lock), "db7 pid 812 (billing) holds for 1 m");
  lock.state.holders.front() = foreign(kCurator);
  EXPECT_EQ(text(lock), "Curator, session 0x100000ab holds, and is in the queue for 1 m");
  lock.state.holders.front().since = {};
  EXPECT_EQ(text(lock), "") << "not readable";
}

TEST(Findings, HugeCycle_HasAShortText) {
  Snapshot snapshot;
  snapshot.cycles.resize(1);
  for (int i = 0; i < 1'000; ++i) {
    snapshot.cycles[0].steps.push_back(
        {"/a", contender("lock-0000000002", 1s), holder("lock-0000000001", 1s)});
  }
  const auto found = findings(snapshot, {}, kNow);
  EXPECT_LT(found.front().text.size(), 3'000U);
  EXPECT_NE(found.front().text.find("; and 980 more waits"), std::string::npos);
  EXPECT_EQ(found.front().paths.size(), 1'000U);
}

TEST(Findings, SequenceWear_HasTwoLevels) {
  const auto level = [](std::int32_t next) {
    auto lock = busy_lock("/a");
    lock.next_sequence = next;
    const auto found = findings(snapshot_of({lock}), {}, kNow);
    return found.empty() ? Level::ok : found[0].level;
  };
  EXPECT_EQ(level(999'999'999), Level::ok);
  EXPECT_EQ(level(1'000'000'000), Level::warning);
  EXPECT_EQ(level(1'900'000'000), Level::failure);
  EXPECT_EQ(level(-2147483648), Level::failure);
}

TEST(Findings, Libraries_AreJudgedByTheGuide) {
  const auto found = [](std::vector<Participant> contenders) {
    auto lock = lock_at("/a");
    for (auto& each : contenders) add_waiting(lock, std::move(each));
    return kinds(snapshot_of({lock}));
  };
  const auto zklock_mutex = contender("lock-0000000002", 1s);
  auto permits = contender("permits-1-of-2-0000000003", 1s);
  permits.access = Access::permits;
  EXPECT_EQ(found({foreign(kKazoo)}), "");
  EXPECT_EQ(found({foreign(kCurator), zklock_mutex}), "");
  EXPECT_EQ(found({foreign(kKazoo), zklock_mutex}), "mixed_libraries ");
  EXPECT_EQ(found({foreign(kKazoo), foreign(kCurator)}), "mixed_libraries ");
  EXPECT_EQ(found({foreign(kCurator), permits}), "mixed_libraries ");
}

TEST(Findings, OtherChildren_FiveAreNamed) {
  auto lock = busy_lock("/a");
  lock.other_children = {"a", "b", "c", "d", "e", "f"};
  lock.other_children_count = 40;
  const auto found = findings(snapshot_of({lock}), {}, kNow);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text, "40 children are no contenders: a, b, c, d, e, ...");
  lock.other_children = {"a"};
  lock.other_children_count = 1;
  EXPECT_EQ(findings(snapshot_of({lock}), {}, kNow)[0].text, "1 child is no contender: a");
}

TEST(Findings, EmptyZnode_OnlyAfterADay) {
  Snapshot snapshot;
  snapshot.empty = {{"/young", kNow - 23h}, {"/old", kNow - 24h}};
  const auto found = findings(snapshot, {}, kNow);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "/old");
  EXPECT_EQ(found[0].level, Level::notice);
}

}  // namespace
}  // namespace zklock::cli::testing
