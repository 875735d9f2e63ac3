// SPDX-License-Identifier: Apache-2.0
// A lock that its client retains while it is idle.
#include "tests/model/cohort_fixture.h"

namespace zklock::model {
namespace {

constexpr std::chrono::milliseconds kKept{5'000};

class IdleLock : public CohortTest {
 protected:
  void SetUp() override {
    CohortTest::SetUp();
    lock_.use(0);
  }
  static Request kept(int batch = 1) { return on({.batch = batch, .keep_idle_for = kKept}); }
  static Request kept_with_delay(std::chrono::milliseconds delay) {
    Request request = kept();
    request.lock_delay = delay;
    return request;
  }

  /// Acquires and releases the lock. It is then retained, and the queue is watched.
  std::size_t idle(const Request& request = kept()) {
    const auto call = granted(0, request);
    release(call);
    EXPECT_EQ(lock_.nodes().size(), request.lock_delay > 0s ? 2U : 1U);
    EXPECT_EQ(lock_.held(), 0U);
    return call;
  }
  void expect_released() {
    run();
    EXPECT_TRUE(lock_.nodes().empty());
  }
};

TEST_F(IdleLock, LockAndRelease_SendNoRequest) {
  auto before = granted(0, kept());
  client(0).reset_counts();
  release(before);
  EXPECT_EQ(client(0).requests(), 1U);
  EXPECT_EQ(client(0).requests(Kind::list_and_watch), 1U);
  client(0).reset_counts();
  for (std::uint64_t turn = 1; turn < 20; ++turn) {
    const auto next = lock_.acquire(0, turn % 2 == 0 ? once(kept()) : kept());
    expect_same_node(before, next);  // at once
    EXPECT_EQ(call(next).token.grant_index, turn);
    lock_.release(next);
    before = next;
  }
  EXPECT_EQ(client(0).requests(), 0U);
  run();
  EXPECT_EQ(client(0).requests(), 0U);
}

// A call with another batch has a cohort of its own.
TEST_F(IdleLock, OtherCohortArrives_IsReleased) {
  const auto first = idle();
  const auto other = granted(0, kept(2));
  EXPECT_GT(call(other).token, call(first).token);
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
  expect_same_node(first, again);  // at once
}

TEST_F(IdleLock, OneOfTwoObjectsDestroyed_IsRetained) {
  const auto path_lock = lock_.path_lock(0);
  path_lock->attach();
  const auto first = idle();
  path_lock->detach();
  run();
  const auto second = lock_.acquire(0, kept());
  expect_same_node(first, second);  // at once
}

TEST_F(IdleLock, ContenderWaitsAtSecondRelease_IsReleased) {
  idle();
  const auto again = granted(0, kept());
  const auto outside = waiting(1);
  release(again);
  EXPECT_TRUE(is_granted(outside));
}

// A batch has been granted, and its query for other contenders is answered when no call waits.
TEST_F(IdleLock, NoWaiterAtReply_IsRetained) {
  const auto first = granted(0, kept(2));
  const auto second = lock_.acquire(0, kept(2));
  const auto third = lock_.acquire(0, kept(2));
  lock_.release(first);
  lock_.release(second);
  lock_.cancel(third);
  run();
  const auto later = lock_.acquire(0, kept(2));
  expect_same_node(second, later);
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
}

TEST_F(IdleLock, IdleTime_CountsFromLastRelease) {
  idle();
  run_for(kKept - 1s);
  release(granted(0, kept()));
  run_for(kKept - 1s);
  EXPECT_EQ(lock_.nodes().size(), 1U);
  run_for(1s + 300ms);  // and a tick
  expect_released();
}

TEST_F(IdleLock, HoldOutlivesObjects_IsNotRetained) {
  const auto call = granted(0, kept());
  lock_.end_use(0);
  release(call);
  expect_released();
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
}

TEST_F(IdleLock, BatchUnderWatch_StartsAgain) {
  auto before = idle(kept(3));
  for (int i = 0; i < 5; ++i) {
    const auto next = granted(0, kept(3));
    expect_same_node(before, next);
    if (i < 4) release(next);
    before = next;
  }
  const auto next = lock_.acquire(0, kept(3));
  lock_.release(before);
  expect_same_node(before, next);
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
  granted(1);  // it is watched as before
}

TEST_F(IdleLock, LockDelay_RemainsWithZnode) {
  const auto first = idle(kept_with_delay(4s));
  const auto again = lock_.acquire(0, kept_with_delay(4s));
  expect_same_node(first, again);
  release(again);
  granted(1);  // the idle lock was released
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
}

TEST_F(IdleLock, LeaseExpiredWithoutCall_IsReleased) {
  idle(on({.keep_idle_for = 1h}));
  lock_.world().isolate(0);
  run_for(4500ms);
  lock_.world().heal(0);
  run_for(500ms);
  EXPECT_TRUE(client(0).is_connected());
  expect_released();
}

TEST_F(IdleLock, ZnodeDeleted_LeavesNoDelay) {
  const auto first = idle(kept_with_delay(30s));
  ASSERT_EQ(ensemble().remove(call(first).node), Status::ok);
  expect_released();
}

TEST_F(IdleLock, SessionExpired_LeavesDelay) {
  idle(kept_with_delay(2s));
  const auto outside = lock_.acquire(1);
  lock_.world().expire(0);
  run_for(1s);
  EXPECT_EQ(call(outside).outcomes, 0) << "there was no holder that lost it";
  run_for(1500ms);
  EXPECT_TRUE(is_granted(outside));
}

TEST_F(IdleLock, ProcessPaused_IsLostBeforeAnyEvent) {
  const auto first = idle();
  lock_.world().pause(0);
  run_for(8s);
  const auto outside = granted(1);
  lock_.world().resume(0);
  const auto again = lock_.acquire(0, kept());
  EXPECT_EQ(call(again).outcomes, 0);
  EXPECT_EQ(lock_.violation(), "");
  lock_.world().reconnect(0);
  run_for(1s);
  release(outside);
  expect_new_node(first, again);
}

// Its loss is known from the event, without another look.
TEST_F(IdleLock, ZnodeDeleted_IsLost) {
  for (const bool is_watched : {true, false}) {
    lock_.use(0);
    const auto first = idle();
    if (is_watched) run_for(1s);
    ASSERT_EQ(ensemble().remove(call(first).node), Status::ok);
    reset_counts();
    run();
    if (is_watched) {
      EXPECT_EQ(client(0).live_interests(), 0U);
      EXPECT_EQ(client(0).requests(Kind::check) + client(0).requests(Kind::get), 0U);
    }
    const auto again = granted(0, kept());
    expect_new_node(first, again);
    release(again);
    lock_.end_use(0);
    finish();
  }
}

TEST_F(IdleLock, ReleaseRequested_IsReleased) {
  for (const auto data : {core::kReleaseRequestAsks, core::kReleaseRequestForces}) {
    lock_.use(0);
    idle();
    reset_counts();
    request_release(data);
    run();
    EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
    withdraw_request();
    lock_.end_use(0);
    finish();
  }
}

TEST_F(IdleLock, DisconnectedWithinLease_IsRetained) {
  const auto first = idle();
  disconnect(0);
  const auto again = lock_.acquire(0, kept());
  expect_same_node(first, again);
  EXPECT_EQ(call(again).hold.state(), HoldState::suspended);
  lock_.release(again);
  reconnect(0);
  EXPECT_EQ(lock_.nodes().size(), 1U);
}

}  // namespace
}  // namespace zklock::model
