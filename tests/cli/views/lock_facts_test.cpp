// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/lock_facts.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "locks.h"

namespace zklock::cli::testing {
namespace {

const std::string kHex = "0123456789abcdef0123456789abcdef";
const std::string kUuid = "01234567-89ab-cdef-0123-456789abcdef";

TEST(LibraryOf, DataAndNames_ShowTheLibrary) {
  EXPECT_EQ(library_of(contender("lock-0000000001", 1s)), Library::zklock);
  EXPECT_EQ(library_of(foreign("_c_" + kUuid + "-lock-0000000001")), Library::curator);
  EXPECT_EQ(library_of(foreign("_c_" + kUuid + "-__READ__0000000001")), Library::curator);
  EXPECT_EQ(library_of(foreign("_c_" + kHex + "-lock-0000000001")), Library::go_zookeeper);
  EXPECT_EQ(library_of(foreign(kHex + "__lock__0000000001")), Library::kazoo);
  EXPECT_EQ(library_of(foreign(kHex + "__rlock__0000000001")), Library::kazoo);
  for (const char* name : {"lock-0000000001", "", "_c_", "_c_12-lock-0000000001", "__lock__1"}) {
    EXPECT_EQ(library_of(foreign(name)), Library::unknown) << name;
  }
}

TEST(KindOf, EachAccess_HasItsKind) {
  const auto kind = [](const char* node, Access access) {
    auto lock = lock_at("/x");
    auto each = contender(node, 1s);
    each.access = access;
    add_waiting(lock, each);
    return kind_of(lock);
  };
  EXPECT_EQ(kind("lock-0000000001", Access::exclusive), LockKind::mutex);
  EXPECT_EQ(kind("__WRIT__0000000001", Access::exclusive), LockKind::shared);
  EXPECT_EQ(kind("__READ__0000000001", Access::shared), LockKind::shared);
  EXPECT_EQ(kind("permits-1-of-2-0000000001", Access::permits), LockKind::semaphore);
  EXPECT_EQ(kind("weight-1-0000000001", Access::weighted), LockKind::priority);
  EXPECT_EQ(kind_of(lock_at("/x")), LockKind::unknown);
}

TEST(KindOf, MutexBehindGate_IsPriority) {
  auto lock = lock_at("/x");
  add_holder(lock, holder("lock-0000000001", 1s));
  auto gate = contender("weight-1-0000000002", 1s);
  gate.access = Access::weighted;
  add_waiting(lock, gate);
  EXPECT_EQ(kind_of(lock), LockKind::priority);
  add_waiting(lock, contender("__WRIT__0000000003", 1s));
  EXPECT_EQ(kind_of(lock), LockKind::mixed);
}

TEST(HoldAge, WithoutHeldSince_IsAnUpperLimit) {
  auto each = holder("lock-0000000001", 60s);
  EXPECT_EQ(hold_age(each, kNow)->age, 60s);
  EXPECT_FALSE(hold_age(each, kNow)->is_exact);
  EXPECT_FALSE(alert_age(each, kNow));
  each.held_since = kNow - 7s;
  EXPECT_EQ(hold_age(each, kNow)->age, 7s);
  EXPECT_TRUE(hold_age(each, kNow)->is_exact);
  EXPECT_EQ(alert_age(each, kNow), 7s);
  EXPECT_EQ(alert_age(foreign("lock-0000000001"), kNow), 60s);
}

TEST(Age, HostileTimes_DoNotOverflow) {
  EXPECT_EQ(age(WallTime::min(), kNow), age(WallTime(), kNow));
  EXPECT_EQ(age(WallTime::max(), kNow), 0s);
}

TEST(OldestHold, SeveralHolders_IsTheOldest) {
  auto lock = lock_at("/x");
  EXPECT_FALSE(oldest_hold(lock, kNow));
  add_holder(lock, holder("__READ__0000000001", 5s));
  add_holder(lock, holder("__READ__0000000002", 9s));
  EXPECT_EQ(oldest_hold(lock, kNow)->age, 9s);
  EXPECT_FALSE(oldest_wait(lock, kNow));
}

TEST(ContenderText, Names_DependOnTheLibrary) {
  auto each = contender("lock-0000000001", 1s);
  EXPECT_EQ(text_of(each), "db7 pid 812 (billing)");
  each.label = "writer";
  each.note = "job 42";
  EXPECT_EQ(text_of(each), "db7 pid 812 (billing/writer, \"job 42\")");
  each.application.clear();
  each.label.clear();
  EXPECT_EQ(text_of(each), "db7 pid 812 (\"job 42\")");
  each.note = "a\x1b[2J\xe2\x80\xae";
  EXPECT_EQ(text_of(each), "db7 pid 812 (\"a?[2J?\")");
  EXPECT_EQ(text_of(foreign(kHex + "__lock__0000000001")), "Kazoo, session 0x100000ab");
}

}  // namespace
}  // namespace zklock::cli::testing
