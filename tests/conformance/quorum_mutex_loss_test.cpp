// SPDX-License-Identifier: Apache-2.0
// QuorumMutex: ensembles and sessions end during the wait or the hold.
#include <atomic>
#include <stop_token>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "conformance/quorum_mutex_fixture.h"

namespace zklock::testing {
namespace {

TEST_F(Quorum, SecondEnsembleKilled_HoldIsLost) {
  const Contender c = contender();
  QuorumHold hold = c->acquire();
  ASSERT_EQ(taken(hold), "xxx");
  std::atomic<int> fired{0};
  const std::stop_callback on_loss(hold.loss_token(), [&] { ++fired; });

  servers_[1].kill();
  EXPECT_TRUE(becomes(hold[1], HoldState::lost));
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_GT(hold.valid_until(), LeaseClock::now());
  EXPECT_EQ(c->hold_count(), 1);
  const Contender other = contender({.ensemble_timeout = kShort});
  EXPECT_FALSE(other->try_lock());
  EXPECT_EQ(fired, 0);

  servers_[0].kill();
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
  EXPECT_TRUE(eventually([&] { return fired == 1; }, kTestTimeout));
  EXPECT_EQ(hold.valid_until(), LeaseClock::time_point::min());
  EXPECT_EQ(hold[2].state(), HoldState::held);
  hold.release();
  EXPECT_TRUE(reaches_nodes({0, 0, 0}));
  EXPECT_EQ(fired, 1);
}

TEST_F(Quorum, EnsembleKilledWhileWaiting_IsSkipped) {
  const Contender holder = contender({.ensemble_timeout = kShort});
  const Contender waiter = contender({.ensemble_timeout = kShort});
  QuorumHold hold = holder->acquire();
  auto waiting = waiter->async_acquire();
  ASSERT_TRUE(reaches_nodes({2, 1, 1}));
  servers_[0].kill();
  ASSERT_TRUE(reaches_nodes({0, 2, 1}));  // the queue in which it waits now
  EXPECT_FALSE(is_ready(waiting));
  EXPECT_EQ(hold.state(), HoldState::held);
  hold.release();
  QuorumHold next = get(waiting);
  EXPECT_EQ(taken(next), "-xx");
  EXPECT_EQ(next.state(), HoldState::held);
}

TEST_F(Quorum, TwoKilledWhileWaiting_CallThrowsAndHoldIsLost) {
  const Contender holder = contender({.ensemble_timeout = kShort});
  const Contender waiter = contender({.ensemble_timeout = kShort});
  const QuorumHold hold = holder->acquire();
  auto waiting = in_thread([&] { waiter->lock(); });
  ASSERT_TRUE(reaches_nodes({2, 1, 1}));
  servers_[0].kill();
  servers_[1].kill();
  EXPECT_EQ(error_of([&] { get(waiting); }), Errc::not_connected);
  EXPECT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
  EXPECT_TRUE(reaches_nodes({0, 0, 1}));
}

}  // namespace
}  // namespace zklock::testing
