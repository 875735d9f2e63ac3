// SPDX-License-Identifier: Apache-2.0
// The production path lock on the simulated ensemble: lost sessions, znodes and replies.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/engine/pending_acquire.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

TEST_F(PathLockTest, HolderCrashes_NextIsGranted) {
  granted(0);
  const auto second = waiting(1);
  lock_.world().expire(0);
  run();
  EXPECT_TRUE(lock_.call(second).granted());
  lock_.release(second);
}

TEST_F(PathLockTest, OwnZnodeDeletedWhileHolding_IsLoss) {
  const auto call = granted(0);
  lock_.world().run_for(1s);  // after a tick its own znode is watched
  ASSERT_EQ(lock_.world().ensemble().remove(lock_.call(call).node), Status::ok);
  run();
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::lost);
  EXPECT_EQ(lock_.losses_notified(call), 1U);
  lock_.release(call);
  expect_rest();
}

TEST_F(PathLockTest, OwnZnodeDeletedWhileWaiting_QueuesAgain) {
  const auto first = granted(0);
  const auto second = waiting(1);
  lock_.world().run_for(2s);
  const std::string holder = lock_.call(first).node;
  for (const std::string& name : lock_.nodes()) {
    const std::string node = LockWorld::kPath + ("/" + name);
    if (node == holder) continue;
    ASSERT_EQ(lock_.world().ensemble().remove(node), Status::ok);
  }
  run();
  EXPECT_EQ(lock_.nodes().size(), 2U);
  lock_.release(first);
  run();
  EXPECT_TRUE(lock_.call(second).granted());
  lock_.release(second);
  expect_rest();
}

TEST_F(PathLockTest, QueueAgainDisabled_LossIsAnError) {
  granted(0);
  const auto second = waiting(1, {.queue_again = false});
  lock_.world().expire(1);
  lock_.world().run_for(1s);
  EXPECT_EQ(error(second), Errc::session_expired);
}

TEST_F(PathLockTest, SessionExpiredWhileWaiting_QueuesAgain) {
  const auto first = granted(0);
  const auto second = waiting(1);
  lock_.world().expire(1);
  lock_.world().run_for(1s);
  ASSERT_EQ(lock_.call(second).outcomes, 0);
  EXPECT_EQ(lock_.nodes().size(), 2U);
  lock_.release(first);
  run();
  EXPECT_TRUE(lock_.call(second).granted());
  lock_.release(second);
  expect_rest();
}

TEST_F(PathLockTest, LockAfterLoss_FailsUntilUnlocked) {
  const Owner owner = Owner::unique();
  const auto lost = granted(0, {.owner = owner});
  lock_.world().expire(0);
  lock_.world().run_for(1s);
  EXPECT_EQ(lock_.call(lost).hold.state(), HoldState::lost);
  EXPECT_EQ(lock_.losses_notified(lost), 1U);
  const auto again = lock_.acquire(0, {.owner = owner});
  EXPECT_EQ(error(again), Errc::lock_lost);
  lock_.release(lost);
  const auto after = granted(0, {.owner = owner});
  EXPECT_GT(lock_.call(after).token, lock_.call(lost).token);
  lock_.release(after);
  expect_rest();
}

TEST_F(PathLockTest, ReleaseWhileDisconnected_IsSentAtReconnect) {
  const auto first = granted(0);
  const auto second = waiting(1);
  lock_.world().disconnect(0);
  run();
  EXPECT_EQ(lock_.call(first).hold.state(), HoldState::suspended);
  lock_.release(first);
  run();
  EXPECT_EQ(lock_.call(second).outcomes, 0);
  lock_.world().reconnect(0);
  run();
  EXPECT_TRUE(lock_.call(second).granted());
  lock_.release(second);
  expect_rest();
}

TEST_F(PathLockTest, ReleaseReplyLost_IsRepeatedUntilConfirmed) {
  for (const bool applied : {true, false}) {
    const auto call = granted(0);
    if (applied) {
      lock_.world().lose_reply(0, Kind::announce_and_delete);
    } else {
      lock_.world().lose_request(0, Kind::announce_and_delete);
    }
    lock_.release(call);
    run();
    lock_.world().reconnect(0);
    expect_rest();
  }
}

TEST_F(PathLockTest, FailureDuringRecovery_LeavesNoZnode) {
  lock_.world().lose_reply(0, Kind::create_contender);
  const auto call = lock_.acquire(0);
  run();
  lock_.world().fail_next(0, Kind::list_children, Status::no_auth);
  lock_.world().reconnect(0);
  run();
  EXPECT_EQ(error(call), Errc::no_auth);
  EXPECT_EQ(lock_.nodes().size(), 1U) << "there it is";
  expect_rest();
}

/// Closes the client, and destroys the last lock object on the path of the world before that path
/// is closed. Returns whether this order was achieved.
bool destroyed_while_closing(LockWorld& lock) {
  std::vector<std::shared_ptr<detail::PathLock>> others;
  bool destroyed = false;
  bool in_time = false;
  const auto destroy = [&](const detail::AcquireOutcome&) {
    if (std::exchange(destroyed, true)) return;
    in_time = lock.held() > 0;
    lock.end_use(0);
  };
  // The order in which the paths are closed is unknown. One of these is closed first.
  for (int i = 0; i < 16; ++i) {
    const std::string path = "/locks/other-" + std::to_string(i);
    others.push_back(lock.path_lock(0, path.c_str()));
    detail::PendingAcquire::start(
        others.back(),
        {.owner = Owner::unique(), .time_limit = detail::TimeLimit::endless(), .done = destroy},
        {});
  }
  lock.core(0).close();
  lock.world().run_all();
  return in_time;
}

TEST_F(PathLockTest, ObjectDestroyedWhileClientCloses_HoldIsLost) {
  lock_.use(0);
  const auto call = granted(0);
  ASSERT_TRUE(destroyed_while_closing(lock_));
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::lost);
  EXPECT_EQ(lock_.losses_notified(call), 1U);
  lock_.release(call);
}

TEST_F(PathLockTest, SharedNodeOfClosingClient_IsForgotten) {
  lock_.use(0);
  const auto call = granted(0, {.local = {.batch = 4}});
  const auto behind = waiting(0, {.local = {.batch = 4}});
  ASSERT_TRUE(destroyed_while_closing(lock_));
  EXPECT_EQ(lock_.losses_notified(call), 1U);
  EXPECT_EQ(error(behind), Errc::closed);
  lock_.release(call);
}

}  // namespace
}  // namespace zklock::model
