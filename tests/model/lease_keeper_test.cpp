// SPDX-License-Identifier: Apache-2.0
// The requests that extend the leases of a client.
#include <cstddef>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class Keeper : public PathLockTest {
 protected:
  static constexpr Duration kT = 6s;  ///< ClientOptions::session_timeout
  void expect_queries_only(std::size_t c) {
    EXPECT_EQ(client(c).requests(Kind::check), 0U) << "the quorum is left alone";
    EXPECT_EQ(client(c).requests(), client(c).requests(Kind::count_children));
    EXPECT_GE(client(c).requests(), 15U);
    EXPECT_LE(client(c).requests(), 17U);
  }
  bool is_held(std::size_t call) { return lock_.call(call).hold.state() == HoldState::held; }
};

TEST_F(Keeper, NothingHeld_QueriesServerOnly) {
  run_for(kT);
  reset_counts();
  run_for(4 * kT);
  expect_queries_only(0);
}

TEST_F(Keeper, LockAwaited_QueriesServerOnly) {
  const auto holder = granted(0);
  const auto waiter = waiting(1);
  run_for(kT);  // by then its own znode is watched, too
  reset_counts();
  run_for(4 * kT);
  expect_queries_only(1);
  release(holder);
  EXPECT_TRUE(is_held(waiter));
  release(waiter);
  expect_rest();
}

TEST_F(Keeper, LockHeld_QueriesQuorumFourTimesPerTimeout) {
  const auto call = granted(0);
  run_for(kT);  // by then its own znode is watched, too
  reset_counts();
  run_for(4 * kT);
  EXPECT_EQ(client(0).requests(),
            client(0).requests(Kind::check) + client(0).requests(Kind::count_children));
  EXPECT_GE(client(0).requests(Kind::check), 15U);
  EXPECT_LE(client(0).requests(Kind::check), 17U);
  EXPECT_GE(client(0).requests(), 31U);
  EXPECT_LE(client(0).requests(), 33U);
  release(call);
  expect_rest();
}

// The requests of the lock itself are evidence enough.
TEST_F(Keeper, LockUsedAllTheTime_NoRequestsOfTheKeeper) {
  run_for(kT);
  const auto cycle = [this] {
    release(granted(0));
    run_for(kT / 10);
  };
  cycle();
  reset_counts();
  for (int i = 0; i < 20; ++i) cycle();
  EXPECT_EQ(client(0).requests(Kind::check), 0U);
  EXPECT_EQ(client(0).requests(Kind::count_children), 20U) << "one for each create";
  expect_rest();
}

// A waiter whose turn comes after its lease has lapsed asks the quorum first.
TEST_F(Keeper, TurnAfterLongWait_ChecksZnodeOnce) {
  const auto holder = granted(0);
  const auto waiter = waiting(1);
  run_for(3 * kT);
  reset_counts();
  release(holder);
  EXPECT_EQ(client(1).requests(Kind::check), 1U);
  EXPECT_TRUE(is_held(waiter));
  release(waiter);
  expect_rest();
}

// The lease of the create is enough.
TEST_F(Keeper, TurnAfterShortWait_NoRequest) {
  run_for(kT);
  const auto holder = granted(0);
  const auto waiter = waiting(1);
  run_for(kT / 5);
  reset_counts();
  release(holder);
  EXPECT_TRUE(is_held(waiter));
  EXPECT_EQ(client(1).requests(Kind::check), 0U);
  release(waiter);
  expect_rest();
}

// A grant late in a lease: the heartbeat comes before the lease ends.
TEST_F(Keeper, GrantLateInLease_IsKept) {
  for (Duration wait = kT / 10; wait < kT; wait += kT / 40) {
    run_for(kT);
    const auto holder = granted(0);
    const auto waiter = waiting(1);
    run_for(wait);
    release(holder);
    EXPECT_TRUE(is_held(waiter)) << wait.count();
    run_for(2 * kT);
    EXPECT_TRUE(is_held(waiter)) << wait.count();
    release(waiter);
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
