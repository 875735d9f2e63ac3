// SPDX-License-Identifier: Apache-2.0
// Several contenders of one client under one znode, on the simulated ensemble.
#include "tests/model/cohort_fixture.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

// ---- requests and order ------------------------------------------------------------------------

// A new znode would cost the local contenders their turn, and the rest of the lease is of use.
TEST_F(CohortTest, HandoffLateInLease_SendsNoRequest) {
  const auto first = granted(0, many());
  const auto second = waiting(0, many());
  lock_.world().disconnect(0);
  const auto left = [&] { return call(first).hold.valid_until() - lock_.world().now(); };
  run_for(left() - 100ms);
  reset_counts();
  release(first);
  expect_same_node(first, second);
  EXPECT_EQ(client(0).requests(), 0U);
  EXPECT_EQ(call(second).hold.state(), HoldState::suspended);
  run_for(100ms);
  EXPECT_EQ(call(second).hold.state(), HoldState::lost);
  lock_.world().reconnect(0);
  run_for(1s);
  release(second);
  expect_rest();
}

TEST_F(CohortTest, SeveralWaiters_AreGrantedInOrder) {
  const auto first = granted(0, many());
  const std::stop_token lost = call(first).hold.loss_token();
  auto rest = several_wait(0, many(), 5);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  reset_counts();
  auto before = first;
  for (const auto next : rest) {
    release(before);
    expect_same_node(before, next);
    EXPECT_EQ(call(next).token.grant_index, call(before).token.grant_index + 1);
    EXPECT_EQ(lock_.held(), 1U);
    before = next;
  }
  EXPECT_EQ(client(0).requests(), 0U);
  EXPECT_FALSE(lost.stop_requested()) << "it was released, not lost";
  release(before);
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
  EXPECT_EQ(client(0).requests(), 1U);
  expect_rest();
}

// ---- contenders that share a znode -------------------------------------------------------------

TEST_F(CohortTest, DifferentSettings_DoNotShareZnode) {
  const auto first = granted(0, on({.batch = 3}));
  const auto other_batch = waiting(0, on({.batch = 4}));
  auto request = on({.batch = 3});
  request.queue_again = false;
  const auto other_policy = waiting(0, request);
  request = on({.batch = 3});
  request.lock_delay = 1s;
  const auto other_delay = waiting(0, request);
  const auto none = waiting(0, {});
  EXPECT_EQ(lock_.nodes().size(), 5U);
  release(first);
  expect_new_node(first, other_batch);
  for (const auto each : {other_batch, other_policy, other_delay, none}) {
    EXPECT_TRUE(is_granted(each));
    release(each);
  }
  expect_rest();
}

// ---- contenders that stop waiting --------------------------------------------------------------

TEST_F(CohortTest, CancelledCall_LeavesZnodeToTheNext) {
  const auto outside = granted(1);
  const auto rest = several_wait(0, many(), 4);
  EXPECT_EQ(lock_.nodes().size(), 2U);
  reset_counts();
  lock_.cancel(rest[0]);  // the contender of the znode
  lock_.cancel(rest[2]);  // a contender behind it
  run();
  EXPECT_EQ(call(rest[0]).outcomes, 1);
  EXPECT_EQ(call(rest[2]).outcomes, 1);
  EXPECT_EQ(client(0).requests(), 0U);
  release(outside);
  EXPECT_TRUE(is_granted(rest[1]));
  release(rest[1]);
  expect_same_node(rest[1], rest[3]);
  release(rest[3]);
  expect_rest();
}

TEST_F(CohortTest, FailedSingleAttempt_DelaysNoWaiter) {
  const auto outside = granted(1);
  const auto attempt = lock_.acquire(0, once(many()));
  const auto patient = lock_.acquire(0, many());
  run();
  EXPECT_EQ(call(attempt).outcomes, 1);
  EXPECT_FALSE(is_granted(attempt));
  EXPECT_EQ(call(patient).outcomes, 0);
  release(outside);
  EXPECT_TRUE(is_granted(patient));
  release(patient);
  expect_rest();
}

// ---- other options of a lock -------------------------------------------------------------------

TEST_F(CohortTest, ReleaseRequested_ReleasesZnode) {
  const auto first = granted(0, many());
  const auto second = waiting(0, many());
  request_release({});
  run();
  EXPECT_TRUE(call(first).hold.release_request_token().stop_requested());
  const auto outside = waiting(1);
  release(first);
  EXPECT_TRUE(is_granted(outside));
  EXPECT_EQ(call(second).outcomes, 0);
  withdraw_request();
  run();
  release(outside);
  expect_new_node(first, second);
  release(second);
  expect_rest();
}

TEST_F(CohortTest, LossOfLastHolder_LeavesLockDelay) {
  auto request = many();
  request.lock_delay = 5s;
  const auto first = granted(0, request);
  const auto rest = several_wait(0, request, 1);
  release(first);
  expect_same_node(first, rest[0]);
  const auto outside = waiting(1);
  lock_.world().expire(0);
  run_for(4s);
  EXPECT_EQ(call(outside).outcomes, 0) << "the delay of the second contender";
  run_for(2s);
  EXPECT_TRUE(is_granted(outside));
  release(rest[0]);
  release(outside);
  expect_rest();
}

TEST_F(CohortTest, LockDelay_EndsWithZnode) {
  auto request = on({.batch = 2});
  request.lock_delay = 5s;
  const auto first = granted(0, request);
  const auto rest = several_wait(0, request, 4);
  auto before = first;
  for (const auto next : rest) {
    release(before);
    expect_same_node(before, next);  // the marker is its own; no other client contends
    before = next;
  }
  release(before);
  EXPECT_TRUE(lock_.nodes().empty());
  expect_rest();
}

// One owner writes and reads. The downgrade deletes its delay marker.
TEST_F(CohortTest, ZnodeWithoutMarker_IsNotHandedOff) {
  auto request = many();
  request.lock_delay = 5s;
  const Owner owner = request.owner;
  const auto writes = granted(0, request);
  const auto reads = granted(0, LockWorld::to_read(owner));
  request.owner = Owner::unique();
  const auto next = waiting(0, request);
  release(writes);
  EXPECT_EQ(call(next).outcomes, 0);
  release(reads);
  expect_new_node(writes, next);
  release(next);
  expect_rest();
}

TEST_F(CohortTest, ManyImmediateReleases_AreServedInLoop) {
  auto request = on({.batch = 1'000'000});
  const auto first = granted(0, request);
  const auto path_lock = lock_.path_lock(0);
  std::size_t served = 0;
  constexpr std::size_t kCount = 100'000;
  for (std::size_t i = 0; i < kCount; ++i) {
    detail::PendingAcquire::start(path_lock,
                                  {.owner = Owner::unique(),
                                   .time_limit = detail::TimeLimit::endless(),
                                   .cohort_policy = request.local,
                                   .done =
                                       [&served](const detail::AcquireOutcome& outcome) {
                                         if (!outcome.contender) return;
                                         ++served;
                                         outcome.contender->release(core::CountKind::hold);
                                       }},
                                  {});
  }
  release(first);
  EXPECT_EQ(served, kCount);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
