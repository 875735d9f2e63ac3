// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/run_report.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace zklock::cli {
namespace {

TEST(BlockerText, NoHolder_SaysWhy) {
  LockState state;
  LockChoice lock;
  EXPECT_EQ(blocker_text(state, lock), "");
  state.waiting = 3;
  EXPECT_EQ(blocker_text(state, lock), "the last holder has just released; 3 wait");
  state.lock_delay = std::chrono::seconds(4);
  EXPECT_EQ(blocker_text(state, lock), "lock delay of 4 s; 3 wait");
  state.waiting = 0;
  EXPECT_EQ(blocker_text(state, lock), "lock delay of 4 s; none waits");
  state.lock_delay.reset();
  lock.permits = 1;
  state.waiting = 1;
  EXPECT_EQ(blocker_text(state, lock),
            "no permit is held; the stored count may be too low; 1 waits");
}

TEST(BlockerText, Holder_IsNamed) {
  Participant holder;
  holder.host = "db7";
  holder.pid = 812;
  const LockState state{.holders = {holder}, .waiting = 0, .holding = 1};
  EXPECT_EQ(blocker_text(state, LockChoice()), "held by db7 pid 812; none waits");
}

}  // namespace
}  // namespace zklock::cli
