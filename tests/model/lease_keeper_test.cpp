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
  bool is_held(std::size_t call) { return lock_.call(call).hold.state() == HoldState::held; }
};

TEST_F(Keeper, NothingHeld_HeartbeatsQueryServerOnly) {
  run_for(kT);
  reset_counts();
  run_for(4 * kT);
  EXPECT_EQ(client(0).requests(Kind::check), 0U) << "the quorum is left alone";
  EXPECT_EQ(client(0).requests(), client(0).requests(Kind::count_children));
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
TEST_F(Keeper, VerySlowReplyAfterIdleTime_GrantsOneRoundLater) {
  for (const Duration slow : {kT / 20, kT / 12, kT / 8, kT / 6}) {
    run_for(5 * kT);
    const auto call = lock_.acquire(0);
    client(0).cut_off();
    run_for(slow);
    client(0).mend();
    run();
    EXPECT_FALSE(lock_.call(call).granted()) << slow.count();
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
