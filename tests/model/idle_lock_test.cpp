// SPDX-License-Identifier: Apache-2.0
// A lock that its client retains without a holder, on the simulated ensemble.
#include "tests/model/cohort_fixture.h"
#include "tests/model/idle_lock_fixture.h"

namespace zklock::model {
namespace {

TEST_F(IdleLock, LockAndRelease_SendNoRequest) {
  auto before = granted(0, kept());
  client(0).reset_counts();
  release(before);
  EXPECT_EQ(client(0).requests(), 1U);
  EXPECT_EQ(client(0).requests(Kind::list_and_watch), 1U);
  client(0).reset_counts();
  for (std::uint64_t turn = 1; turn < 20; ++turn) {
    const auto next = lock_.acquire(0, turn % 2 == 0 ? once(kept()) : kept());
    EXPECT_TRUE(is_granted(next)) << "at once";
    expect_same_node(before, next);
    EXPECT_EQ(call(next).token.grant_index, turn);
    lock_.release(next);
    before = next;
  }
  EXPECT_EQ(client(0).requests(), 0U);
  run();
  EXPECT_EQ(client(0).requests(), 0U);
  lock_.end_use(0);
  expect_released();
}

// A call with another batch has a cohort of its own.
TEST_F(IdleLock, OtherCohortArrives_IsReleased) {
  const auto first = idle();
  const auto other = lock_.acquire(0, kept(2));
  run();
  ASSERT_TRUE(is_granted(other));
  EXPECT_GT(call(other).token, call(first).token);
  release(other);
  lock_.end_use(0);
  expect_released();
}

// While the contenders of a cohort wait, each has a znode of its own, and the cohort has none.
TEST_F(IdleLock, OtherCohortArrivesDuringWait_CohortRemains) {
  const auto outside = granted(1);
  const auto first = waiting(0, kept());
  const auto other = waiting(0, kept(2));
  lock_.cancel(other);
  release(outside);
  ASSERT_TRUE(is_granted(first));
  release(first);
  const auto again = lock_.acquire(0, kept());
  EXPECT_TRUE(is_granted(again)) << "at once";
  expect_same_node(first, again);
  release(again);
  lock_.end_use(0);
  expect_released();
}

TEST_F(IdleLock, OneOfTwoObjectsDestroyed_IsRetained) {
  const auto path_lock = lock_.path_lock(0);
  path_lock->attach();
  const auto first = idle();
  path_lock->detach();
  run();
  const auto second = lock_.acquire(0, kept());
  EXPECT_TRUE(is_granted(second)) << "at once";
  expect_same_node(first, second);
  release(second);
  lock_.end_use(0);
  expect_released();
}

TEST_F(IdleLock, ContenderWaitsAtSecondRelease_IsReleased) {
  idle();
  const auto again = granted(0, kept());
  const auto outside = waiting(1);
  release(again);
  EXPECT_TRUE(is_granted(outside));
  release(outside);
  expect_released();
}

TEST_F(IdleLock, WaiterForReply_IsNotOvertaken) {
  const auto first = granted(0, kept());
  const auto outside = waiting(1);
  lock_.release(first);
  const auto second = lock_.acquire(0, kept());
  const auto third = lock_.acquire(0, kept());
  run();
  release(outside);
  EXPECT_TRUE(is_granted(second));
  EXPECT_FALSE(is_granted(third));
  release(second);
  EXPECT_TRUE(is_granted(third));
  release(third);
  lock_.end_use(0);
  expect_released();
}

TEST_F(IdleLock, WaiterForReply_IsNotOvertakenLater) {
  const auto first = granted(0, kept());
  lock_.release(first);
  const auto second = lock_.acquire(0, kept());
  const auto third = lock_.acquire(0, kept());
  ASSERT_TRUE(lock_.world().run_until([&] { return is_granted(second); }, 1s));
  expect_same_node(first, second);
  const auto outside = ensemble().create_sequential(LockWorld::kPath, "lock-");
  const auto fourth = waiting(0, kept());
  release(second);
  ASSERT_EQ(ensemble().remove(child(*outside)), Status::ok);
  run();
  EXPECT_TRUE(is_granted(third));
  EXPECT_FALSE(is_granted(fourth));
  release(third);
  EXPECT_TRUE(is_granted(fourth));
  release(fourth);
  lock_.end_use(0);
  expect_released();
}

TEST_F(IdleLock, IdleTime_CountsFromLastRelease) {
  idle();
  run_for(kKept - 1s);
  release(granted(0, kept()));
  run_for(kKept - 1s);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  run_for(1s + kTick);
  expect_released();
}

TEST_F(IdleLock, HoldOutlivesObjects_IsNotRetained) {
  const auto call = granted(0, kept());
  lock_.end_use(0);
  release(call);
  expect_released();
}

TEST_F(IdleLock, ClientClosed_IsReleased) {
  idle();
  lock_.core(0).close();
  lock_.world().run_all();
  EXPECT_TRUE(lock_.nodes().empty());
  EXPECT_EQ(client(0).live_interests(), 0U);
}

TEST_F(IdleLock, WaiterOfSameClient_IsGranted) {
  const auto first = granted(0, kept());
  const auto second = waiting(0, kept());
  EXPECT_EQ(lock_.nodes().size(), 2U) << "in the order of arrival, among all";
  release(first);
  expect_new_node(first, second);
  EXPECT_EQ(client(0).requests(Kind::list_and_watch), 0U);
  release(second);
  EXPECT_EQ(lock_.nodes().size(), 1U) << "and now it is kept";
  const auto other = granted(0, {});
  EXPECT_GT(call(other).token.zxid, call(second).token.zxid)
      << "a contender with other options does not share the znode";
  release(other);
  expect_released();
}

TEST_F(IdleLock, BatchUnderWatch_StartsAgain) {
  auto before = idle(3);
  for (int i = 0; i < 5; ++i) {
    const auto next = granted(0, kept(3));
    expect_same_node(before, next);
    if (i < 4) release(next);
    before = next;
  }
  const auto next = lock_.acquire(0, kept(3));
  lock_.release(before);
  expect_same_node(before, next);
  release(next);
  lock_.end_use(0);
  expect_released();
}

TEST_F(IdleLock, BatchNotExhausted_GrantsWithoutReply) {
  const auto first = granted(0, kept(3));
  lock_.release(first);
  const auto second = lock_.acquire(0, kept(3));
  EXPECT_TRUE(is_granted(second)) << "there are two left";
  run();
  release(second);
  lock_.end_use(0);
  expect_released();
}

TEST_F(IdleLock, OtherChildCreatedAndDeleted_IsRetained) {
  const auto first = idle();
  const std::string other = child("config");
  ASSERT_EQ(ensemble().create(other), Status::ok);
  run();
  const auto again = lock_.acquire(0, kept());
  expect_same_node(first, again);
  release(again);
  ASSERT_EQ(ensemble().remove(other), Status::ok);
  run();
  EXPECT_EQ(lock_.nodes().size(), 1U);
  const auto outside = lock_.acquire(1);
  run();
  EXPECT_TRUE(is_granted(outside)) << "it is watched as before";
  release(outside);
  expect_released();
}

TEST_F(IdleLock, LockDelay_RemainsWithZnode) {
  auto request = kept();
  request.lock_delay = 4s;
  const auto first = granted(0, request);
  release(first);
  EXPECT_EQ(lock_.nodes().size(), 2U) << "the node and its marker";
  const auto again = lock_.acquire(0, request);
  expect_same_node(first, again);
  release(again);
  const auto outside = lock_.acquire(1);
  run();
  EXPECT_TRUE(is_granted(outside)) << "the idle lock was released";
  release(outside);
  expect_released();
}

// The query is older than the grants that the watch allowed, so its reply allows no further
// grant. Then the client queries again, and does not release the lock.
TEST_F(IdleLock, StaleReply_CausesNewQuery) {
  release(granted(0, kept(4)));
  std::vector<std::size_t> calls;
  const auto chain = [&](int count) {
    for (int i = 0; i < count; ++i) calls.push_back(lock_.acquire(0, kept(4)));
  };
  chain(4);
  for (std::size_t i = 0; i < 2; ++i) lock_.release(calls[i]);
  ASSERT_TRUE(is_granted(calls[2])) << "the third grant, with a query in flight";
  ASSERT_GT(client(0).unanswered(), 0U);
  lock_.release(calls[2]);
  lock_.release(calls[3]);  // idle; the watch is still armed
  chain(6);
  for (std::size_t i = 4; i < 7; ++i) lock_.release(calls[i]);
  ASSERT_TRUE(is_granted(calls[7])) << "the fourth since";
  run();
  lock_.release(calls[7]);
  run();
  expect_same_node(calls[7], calls[8]);
  release(calls[8]);
  expect_same_node(calls[8], calls[9]);
  release(calls[9]);
  lock_.end_use(0);
  expect_released();
}

}  // namespace
}  // namespace zklock::model
