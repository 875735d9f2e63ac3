// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_tables.h"

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "locks.h"

namespace zklock::cli::testing {
namespace {

TEST(LockTable, Rows_SayWhatIsKnown) {
  auto busy = busy_lock("/jobs/report");
  busy.state.holders.front().held_since = kNow - 250s;
  busy.state.holders.front().note = "job 42";
  auto elected = busy_lock("/elected");
  elected.state.holders.front().is_candidate = true;
  auto java = lock_at("/java");
  add_holder(java, foreign("_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000001"));
  auto delayed = lock_at("/late");
  delayed.is_delayed = true;
  delayed.state.lock_delay = 4s;
  auto readers = lock_at("/shared");
  add_holder(readers, holder("__READ__0000000001", 1s));
  add_holder(readers, holder("__READ__0000000002", 1s));
  const std::vector<const SurveyedLock*> rows{&busy, &elected, &java, &delayed, &readers};
  EXPECT_EQ(lock_table(rows, kNow).lines(0),
            (std::vector<std::string>{
                "LOCK          KIND    HOLDER                            HELD      WAITING  NOTE",
                "/jobs/report  mutex   db7 pid 812 (billing)             4 m 10 s  1        job 42",
                "/elected      leader  db7 pid 812 (billing) leads       <= 1 m    1",
                "/java         mutex   Curator, session 0x100000ab       <= 1 m    0",
                "/late         -       (lock delay of 4 s)                         0",
                "/shared       mutex   db7 pid 812 (billing) and 1 more  <= 1 s    0"}));
}

TEST(LockTable, Kind_IsThatOfTheHolders) {
  const auto kind = [](const SurveyedLock& lock, const CycleMarks& marks = {}) {
    const std::vector<const SurveyedLock*> rows{&lock};
    const std::string line = lock_table(rows, kNow, marks).lines(0)[1];
    return line.substr(6, line.find("  ", 6) - 6);
  };
  auto readers = lock_at("/a");
  auto reader = holder("__READ__0000000001", 1s);
  reader.access = Access::shared;
  add_holder(readers, reader);
  EXPECT_EQ(kind(readers), "readers");
  auto writer = lock_at("/a");
  add_holder(writer, holder("__WRIT__0000000001", 1s));
  EXPECT_EQ(kind(writer), "writer");
  auto permits = lock_at("/a");
  auto two = holder("permits-2-of-5-0000000001", 1s);
  two.access = Access::permits;
  two.permits = 2;
  add_holder(permits, two);
  EXPECT_EQ(kind(permits), "permits 2 of ?");
  permits.permits = 5;
  EXPECT_EQ(kind(permits), "permits 2 of 5");
  permits.state.holding = 200;  // not all are described
  EXPECT_EQ(kind(permits), "permits ? of 5");
  auto elected = busy_lock("/a");
  elected.state.holders.front().is_candidate = true;
  EXPECT_EQ(kind(elected), "leader");
  const LockCycle cycle{.steps = {{.path = "/a", .waiter = {}, .blocker = {}}}, .is_certain = true};
  const auto marks = cycle_marks(std::span(&cycle, 1));
  EXPECT_EQ(kind(busy_lock("/a"), marks), "mutex, deadlock");
  const auto busy = busy_lock("/a");
  const std::vector<const SurveyedLock*> rows{&busy};
  EXPECT_EQ(lock_table(rows, kNow, marks).tint(1), Tint::alarm);
  EXPECT_EQ(lock_table(rows, kNow).tint(1), Tint::plain);
}

TEST(LockTable, UnreadableHolder_HasNoAge) {
  auto lock = lock_at("/a");
  add_holder(lock, unreadable("lock-0000000001"));
  const std::vector<const SurveyedLock*> rows{&lock};
  EXPECT_EQ(lock_table(rows, kNow).lines(0)[1],
            "/a    mutex  an unknown library, session 0x0  ?     0");
  EXPECT_NE(contender_table(lock, kNow).lines(0)[1].find("  ?    lock-"), std::string::npos);
}

TEST(LockTable, NarrowTerminal_ShowsHeldAndWaiting) {
  auto lock = busy_lock("/jobs/" + std::string(100, 'x'));
  lock.state.holders.front().application = std::string(64, 'y');
  lock.state.holders.front().note = std::string(200, 'z');
  lock.state.holders.front().held_since = kNow - 250s;
  const std::vector<const SurveyedLock*> rows{&lock};
  const auto line = lock_table(rows, kNow).lines(80)[1];
  EXPECT_LE(line.size(), 80U);
  EXPECT_TRUE(line.starts_with("...xxx")) << line;
  EXPECT_TRUE(line.ends_with("...  4 m 10 s  1")) << line;
}

TEST(ContenderTable, Contenders_AreInOrder) {
  auto lock = busy_lock("/a");
  lock.state.holders.front().held_since = kNow - 20s;
  lock.waiters.front().note = "second";
  const auto lines = contender_table(lock, kNow).lines(0);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1], "0  holds  mutex  db7 pid 812 (billing)  20 s  lock-0000000001  0.0");
  EXPECT_EQ(lines[2],
            "1  waits  mutex  db7 pid 812 (billing)  10 s  lock-0000000002  0.0    second");
  EXPECT_EQ(rest_text(lock), "");
  lock.state.waiting = 10'000;
  EXPECT_EQ(rest_text(lock), "and 9999 more wait");
  lock.state.waiting = 2;
  EXPECT_EQ(rest_text(lock), "and 1 more waits");
  lock.state.waiting = 1;
  lock.state.lock_delay = 4s;
  EXPECT_EQ(rest_text(lock), "lock delay of 4 s after a lost hold, from when a contender waits");
}

}  // namespace
}  // namespace zklock::cli::testing
