// SPDX-License-Identifier: Apache-2.0
// The end of the sharing of a znode, on the simulated ensemble. The other contenders are granted
// later.
#include "tests/model/cohort_fixture.h"

namespace zklock::model {
namespace {

using CohortEnd = CohortTest;

class CohortLoss : public CohortTest {
 protected:
  void SetUp() override {
    CohortTest::SetUp();
    first_ = granted(0, many());
    rest_ = several_wait(0, many(), 2);
  }
  /// Expects that the first call has lost its hold, and that the other calls are granted in turn.
  void expect_first_lost_and_rest_served() {
    EXPECT_EQ(call(first_).hold.state(), HoldState::lost);
    EXPECT_EQ(lock_.losses_notified(first_), 1U);
    expect_new_node(first_, rest_[0]);
    EXPECT_EQ(call(rest_[1]).outcomes, 0);
    release(first_);
    EXPECT_EQ(call(rest_[0]).hold.state(), HoldState::held);
    EXPECT_EQ(call(rest_[1]).outcomes, 0);
    release(rest_[0]);
    expect_same_node(rest_[0], rest_[1]);
    release(rest_[1]);
    expect_rest();
  }

  std::size_t first_ = 0;
  std::vector<std::size_t> rest_;
};

TEST_F(CohortLoss, SessionExpired_HolderLostAndRestServed) {
  lock_.world().expire(0);
  run_for(1s);
  expect_first_lost_and_rest_served();
}

TEST_F(CohortLoss, ZnodeDeleted_HolderLostAndRestServed) {
  run_for(1s);  // after two ticks its own znode is watched
  ASSERT_EQ(ensemble().remove(call(first_).node), Status::ok);
  run();
  expect_first_lost_and_rest_served();
}

TEST_F(CohortLoss, ThreadOfHolderExits_NextGetsNewZnode) {
  auto request = many();
  request.kind = core::CountKind::lock;
  release(first_);
  release(rest_[0]);
  const auto mine = waiting(0, request);
  const auto next = waiting(0, many());
  release(rest_[1]);
  expect_same_node(first_, mine);
  lock_.path_lock(0)->thread_exits(call(mine).owner);
  run();
  expect_new_node(first_, next);
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 0U) << "it was not released";
  call(mine).hold.release();
  release(next);
  expect_rest();
}

TEST_F(CohortEnd, MaximumHoldTime_CountsForEachHold) {
  auto request = many();
  request.limit = {.longest = 1s};
  const auto first = granted(0, request);
  const auto rest = several_wait(0, request, 2);
  run_for(900ms);
  release(first);
  expect_same_node(first, rest[0]);
  run_for(900ms);
  EXPECT_EQ(lock_.losses_notified(rest[0]), 0U);
  run_for(1200ms);
  EXPECT_EQ(lock_.losses_notified(rest[0]), 1U);
  expect_new_node(first, rest[1]);
  release(rest[0]);
  release(rest[1]);
  expect_rest();
}

TEST_F(CohortEnd, ErrorOfZnode_EndsAllCallsOfCohort) {
  const auto outside = granted(1);
  auto request = many();
  request.queue_again = false;
  const auto rest = several_wait(0, request, 3);
  lock_.world().expire(0);
  run_for(1s);
  for (const auto each : rest) {
    EXPECT_EQ(call(each).outcomes, 1);
    EXPECT_EQ(error(each), Errc::session_expired);
  }
  release(outside);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
