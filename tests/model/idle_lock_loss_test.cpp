// SPDX-License-Identifier: Apache-2.0
// A lock that its client retains without a holder, and the events that end it.
#include "tests/model/cohort_fixture.h"
#include "tests/model/idle_lock_fixture.h"

namespace zklock::model {
namespace {

TEST_F(IdleLock, LeaseExpiredWithoutCall_IsReleased) {
  auto request = on({.keep_idle_for = 1h});
  release(granted(0, request));
  lock_.world().isolate(0);
  run_for(4500ms);
  lock_.world().heal(0);
  run_for(500ms);
  EXPECT_TRUE(client(0).is_connected());
  expect_released();
}

TEST_F(IdleLock, ReleasedWhileDisconnected_IsNotWatched) {
  idle();
  EXPECT_EQ(client(0).live_interests(), 1U);
  lock_.world().disconnect(0);
  run();
  lock_.end_use(0);
  EXPECT_EQ(client(0).live_interests(), 0U);
  lock_.world().reconnect(0);
  expect_released();
}

TEST_F(IdleLock, ZnodeDeleted_LeavesNoDelay) {
  auto request = kept();
  request.lock_delay = 30s;
  const auto first = granted(0, request);
  release(first);
  ASSERT_EQ(ensemble().remove(call(first).node), Status::ok);
  expect_released();
}

TEST_F(IdleLock, SessionExpired_LeavesDelay) {
  auto request = on({.keep_idle_for = 1h});
  request.lock_delay = 2s;
  release(granted(0, request));
  const auto outside = lock_.acquire(1);
  lock_.world().expire(0);
  run_for(1s);
  EXPECT_EQ(call(outside).outcomes, 0) << "there was no holder that lost it";
  run_for(1500ms);
  EXPECT_TRUE(is_granted(outside));
  release(outside);
  expect_released();
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
  release(again);
  lock_.end_use(0);
  expect_released();
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
    expect_released();
  }
}

TEST_F(IdleLock, ZnodeReplaced_IsLost) {
  const auto first = idle();
  ASSERT_EQ(ensemble().remove(call(first).node), Status::ok);
  ASSERT_EQ(ensemble().remove(LockWorld::kPath), Status::ok);
  ASSERT_EQ(ensemble().create_container(LockWorld::kPath), Status::ok);
  ASSERT_EQ(ensemble().create(call(first).node), Status::ok);  // another program's
  ASSERT_EQ(ensemble().create(child("config")), Status::ok);
  run();
  const auto again = waiting(0, kept());
  ASSERT_EQ(ensemble().remove(call(first).node), Status::ok);
  run();
  expect_new_node(first, again);
  release(again);
  lock_.end_use(0);
  ASSERT_EQ(ensemble().remove(child("config")), Status::ok);
  expect_released();
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
    expect_released();
  }
}

TEST_F(IdleLock, DisconnectedWithinLease_IsRetained) {
  const auto first = idle();
  lock_.world().disconnect(0);
  run();
  const auto again = lock_.acquire(0, kept());
  expect_same_node(first, again);
  EXPECT_EQ(call(again).hold.state(), HoldState::suspended);
  lock_.release(again);
  lock_.world().reconnect(0);
  run();
  EXPECT_EQ(lock_.nodes().size(), 1U);
  lock_.end_use(0);
  expect_released();
}

}  // namespace
}  // namespace zklock::model
