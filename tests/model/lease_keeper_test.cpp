// SPDX-License-Identifier: Apache-2.0
// The requests of an idle client, which extend its leases.
#include <cstddef>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class Keeper : public PathLockTest {
 protected:
  static constexpr Duration kT = 6s;  ///< ClientOptions::session_timeout
  World& world() { return lock_.world(); }
  bool is_held(std::size_t call) { return lock_.call(call).hold.state() == HoldState::held; }
};

TEST_F(Keeper, NothingHeld_SendsSyncsOnly) {
  run_for(kT);
  reset_counts();
  run_for(4 * kT);
  EXPECT_EQ(client(0).requests(Kind::check), 0U) << "the quorum is left alone";
  EXPECT_EQ(client(0).requests(), client(0).requests(Kind::sync));
  EXPECT_GE(client(0).requests(), 18U);
  EXPECT_LE(client(0).requests(), 22U);
}

TEST_F(Keeper, LockHeld_HeartbeatsQueryQuorum) {
  const auto call = granted(0);
  run_for(kT);  // by then its own znode is watched, too
  reset_counts();
  run_for(4 * kT);
  EXPECT_EQ(client(0).requests(), client(0).requests(Kind::check));
  EXPECT_GE(client(0).requests(), 38U);
  EXPECT_LE(client(0).requests(), 42U);
  release(call);
  expect_rest();
}

// A server is cut off right after the leader was paused, so the leader has not heard of the client
// since the pause began. A client that noticed nothing would take a lease of its full length.
TEST_F(Keeper, LeaderWasPaused_IdleClientNoticesIt) {
  client(1).options().relay_interval = kT / 4;
  client(1).options().relay_jitter = kT / 24;
  for (const Duration pause : {kT / 2, 2 * kT / 3, kT - kT / 20}) {
    run_for(2 * kT);
    world().ensemble().pause_leader();
    run_for(pause);
    world().ensemble().resume_leader();
    const auto call = lock_.acquire(1);
    run();
    world().isolate(1);
    if (lock_.call(call).granted()) {
      const auto heard = world().ensemble().last_touch(client(1).session());
      EXPECT_LE(lock_.call(call).hold.valid_until(), *heard + kT) << pause.count();
    }
    run_for(2 * kT);
    world().heal(1);
    run_for(2 * kT);
    release(call);
  }
  expect_rest();
}

TEST_F(Keeper, FreeLockAfterIdleTime_IsGrantedAtOnce) {
  for (Duration rest = 5 * kT; rest < 5 * kT + kT / 2; rest += kT / 20) {
    run_for(rest);
    reset_counts();
    const auto call = granted(0);
    EXPECT_EQ(client(0).requests(), 2U);
    run_for(kT);
    EXPECT_TRUE(is_held(call));
    release(call);
  }
  expect_rest();
}

// The first reply after an idle time is slow. That is no reason for a loss.
TEST_F(Keeper, SlowReplyAfterIdleTime_GrantsAndHoldsLock) {
  for (const Duration slow : {kT / 40, kT / 30}) {
    run_for(5 * kT);
    const auto call = granted_after(slow, 0);
    run_for(2 * kT);
    EXPECT_TRUE(is_held(call)) << slow.count();
    release(call);
  }
  expect_rest();
}

// A server can have paused meanwhile, and may not have answered a session request of the leader
// since.
TEST_F(Keeper, VerySlowReplyAfterIdleTime_GrantsWithinOneRound) {
  for (const Duration slow : {kT / 20, kT / 12, kT / 8, kT / 6}) {
    run_for(5 * kT);
    const auto call = lock_.acquire(0);
    client(0).cut_off();
    run_for(slow);
    client(0).mend();
    run();
    run_for(kT / 20);
    ASSERT_TRUE(lock_.call(call).granted()) << slow.count();
    run_for(2 * kT);
    EXPECT_TRUE(is_held(call)) << slow.count();
    release(call);
  }
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
