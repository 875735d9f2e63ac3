// SPDX-License-Identifier: Apache-2.0
// The texts of LockState, Participant and durations.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "zklock/lock_state.h"

namespace zklock {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::sys_days kDay = std::chrono::year(2026) / 11 / 26;
const std::chrono::system_clock::time_point kNow = kDay + 3h;

Participant db7() {
  Participant p;
  p.node = "lock-0000000012";
  p.session_id = 0x10000a2;
  p.holds = true;
  p.host = "db7";
  p.pid = 812;
  return p;
}

Participant billing(const std::string& note = {}) {
  Participant p = db7();
  p.application = "billing";
  p.note = note;
  return p;
}

Participant held_for(std::chrono::system_clock::duration time, Participant p) {
  p.held_since = kNow - time;
  return p;
}

std::string text_of(const LockState& state) {
  return to_string(state, kNow);
}

TEST(LockStateText, WithoutHolder_IsFreeOrNotHeld) {
  EXPECT_EQ(text_of({}), "free");
  EXPECT_EQ(text_of({.holders = {}, .waiting = 1}), "not held; 1 waits");
  EXPECT_EQ(text_of({.holders = {}, .waiting = 3}), "not held; 3 wait");
}

TEST(LockStateText, OneHolder_HasItsTimeIfKnown) {
  EXPECT_EQ(text_of({.holders = {db7()}}), "held by db7 pid 812; none waits");
  EXPECT_EQ(text_of({.holders = {db7()}, .waiting = 1}), "held by db7 pid 812; 1 waits");
  EXPECT_EQ(text_of({.holders = {held_for(4min + 10s, billing("job 42"))}, .waiting = 3}),
            "held by db7 pid 812 (billing, \"job 42\") for 4 m 10 s; 3 wait");
}

TEST(LockStateText, SeveralHolders_AreCounted) {
  const Participant other = held_for(1h, db7());
  EXPECT_EQ(text_of({.holders = {billing(), other, other}}),
            "held by db7 pid 812 (billing) and 2 more; none waits");
  EXPECT_EQ(text_of({.holders = {held_for(1h, billing()), other}, .waiting = 2}),
            "held by db7 pid 812 (billing) for 1 h and 1 more; 2 wait");
  EXPECT_EQ(text_of({.holders = {billing()}, .waiting = 0, .holding = 8}),
            "held by db7 pid 812 (billing) and 7 more; none waits");
  EXPECT_EQ(text_of({.holders = {billing()}, .waiting = 0, .holding = 1}),
            "held by db7 pid 812 (billing); none waits");
}

TEST(LockStateText, LockDelay_HasItsLength) {
  EXPECT_EQ(text_of({.holders = {}, .lock_delay = 4s}), "lock delay of 4 s; none waits");
  EXPECT_EQ(text_of({.holders = {}, .waiting = 1, .lock_delay = 4s}), "lock delay of 4 s; 1 waits");
}

// The clock of the ensemble's leader can be ahead of this one. A program can set any time.
TEST(LockStateText, TimeInTheFuture_IsNoTime) {
  EXPECT_EQ(text_of({.holders = {held_for(-3s, db7())}}),
            "held by db7 pid 812 for 0 ms; none waits");
  Participant p = db7();
  p.held_since = std::chrono::system_clock::time_point::max();
  EXPECT_EQ(text_of({.holders = {p}}), "held by db7 pid 812 for 0 ms; none waits");
  p.held_since = std::chrono::system_clock::time_point::min();
  EXPECT_TRUE(text_of({.holders = {p}}).starts_with("held by db7 pid 812 for "));
}

TEST(LockStateText, DefaultTime_IsNow) {
  Participant p = db7();
  p.held_since = std::chrono::system_clock::now() - 2h - 1s;
  EXPECT_EQ(to_string(LockState{.holders = {p}}), "held by db7 pid 812 for 2 h; none waits");
}

TEST(ParticipantText, Parts_AreLeftOutIfEmpty) {
  Participant p = db7();
  EXPECT_EQ(to_string(p), "db7 pid 812");
  p.label = "candidate 3";
  EXPECT_EQ(to_string(p), "db7 pid 812 (candidate 3)");
  p.application = "billing";
  EXPECT_EQ(to_string(p), "db7 pid 812 (billing/candidate 3)");
  p.note = "job 42";
  EXPECT_EQ(to_string(p), "db7 pid 812 (billing/candidate 3, \"job 42\")");
  p.label = p.application = "";
  EXPECT_EQ(to_string(p), "db7 pid 812 (\"job 42\")");
  p.pid = 0;
  EXPECT_EQ(to_string(p), "db7 (\"job 42\")");
  p.host = "";
  p.note = "";
  EXPECT_EQ(to_string(p), "znode lock-0000000012 of session 0x10000a2");
  p.session_id = 0;
  EXPECT_EQ(to_string(p), "znode lock-0000000012");
  p.session_id = -1;
  EXPECT_EQ(to_string(p), "znode lock-0000000012 of session 0xffffffffffffffff");
  p.pid = 812;
  EXPECT_EQ(to_string(p), "pid 812");
}

TEST(ParticipantText, HostileText_IsCutAndEscaped) {
  const std::string hostile = "\x1b[2J\n\xff" + std::string(300, 'x');
  const std::string cut = "?[2J??" + std::string(58, 'x');
  Participant p = db7();
  p.host = p.application = p.label = hostile;
  p.note = "\"job\" C:\\tmp\n";
  EXPECT_EQ(to_string(p), cut + " pid 812 (" + cut + "/" + cut + ", \"\\\"job\\\" C:\\\\tmp?\")");
  p.note = hostile;
  EXPECT_TRUE(to_string(p).ends_with(", \"?[2J??" + std::string(194, 'x') + "\")"));
  p.host = "";
  p.pid = 0;
  p.node = hostile;
  EXPECT_TRUE(to_string(p).starts_with("znode ?[2J??" + std::string(122, 'x') + " of session "));
}

TEST(DurationText, TwoLargestUnits_AreShown) {
  EXPECT_EQ(duration_text(0ms), "0 ms");
  EXPECT_EQ(duration_text(310ms), "310 ms");
  EXPECT_EQ(duration_text(999ms), "999 ms");
  EXPECT_EQ(duration_text(1s), "1 s");
  EXPECT_EQ(duration_text(12s + 999ms), "12 s");
  EXPECT_EQ(duration_text(59s), "59 s");
  EXPECT_EQ(duration_text(1min), "1 m");
  EXPECT_EQ(duration_text(4min + 10s), "4 m 10 s");
  EXPECT_EQ(duration_text(59min + 59s), "59 m 59 s");
  EXPECT_EQ(duration_text(1h), "1 h");
  EXPECT_EQ(duration_text(1h + 59s), "1 h");
  EXPECT_EQ(duration_text(3h + 5min + 7s), "3 h 5 m");
  EXPECT_EQ(duration_text(24h), "1 d");
  EXPECT_EQ(duration_text(24h + 59min), "1 d");
  EXPECT_EQ(duration_text(52h), "2 d 4 h");
}

TEST(DurationText, ExtremeDuration_IsShown) {
  EXPECT_EQ(duration_text(-1ms), "0 ms");
  EXPECT_EQ(duration_text(std::chrono::milliseconds::min()), "0 ms");
  EXPECT_EQ(duration_text(std::chrono::milliseconds::max()), "106751991167 d 7 h");
}

}  // namespace
}  // namespace zklock
