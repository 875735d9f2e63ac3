// SPDX-License-Identifier: Apache-2.0
// The marker of the lock delay: its creation at the grant, and its deletion.
#include <chrono>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_delay_fixture.h"

namespace zklock::model {
namespace {

TEST_F(LockDelay, ReleaseAfterLoss_LeavesMarker) {
  const auto holder = granted(0, delayed());
  const auto next = waiting(1);
  lose(0);
  lock_.world().reconnect(0);
  run();
  release(holder);
  EXPECT_EQ(markers(), 1U);
  expect_granted_after(kDelay, next);
  release(next);
  expect_rest();
}

TEST_F(LockDelay, CrashAfterMarkerBeforeGrant_CausesDelay) {
  // The marker exists, but the contender is lost before it receives the reply.
  lock_.world().lose_reply(0, Kind::transaction);
  const auto call = lock_.acquire(0, delayed());
  run();
  EXPECT_FALSE(is_granted(call));
  EXPECT_EQ(markers(), 1U);
  const auto next = waiting(1);
  lose(0);
  expect_granted_after(kDelay, next);
  lock_.world().reconnect(0);
  run();
  release(next);
  run();
  EXPECT_TRUE(is_granted(call)) << "on its new session";
  release(call);
  expect_rest();
}

TEST_F(LockDelay, LostReplyToMarker_IsQueriedAgain) {
  for (const bool carried_out : {true, false}) {
    if (carried_out) {
      lock_.world().lose_reply(0, Kind::transaction);
    } else {
      lock_.world().lose_request(0, Kind::transaction);
    }
    const auto call = lock_.acquire(0, delayed());
    run();
    EXPECT_FALSE(is_granted(call));
    EXPECT_EQ(markers(), carried_out ? 1U : 0U);
    lock_.world().reconnect(0);
    run();
    EXPECT_TRUE(is_granted(call));
    EXPECT_EQ(markers(), 1U);
    release(call);
    expect_rest();
  }
}

TEST_F(LockDelay, ZnodeDeletedBeforeMarker_QueuesAgain) {
  const auto call = lock_.acquire(0, delayed());
  while (client(0).requests(Kind::transaction) == 0) {
    std::vector<Step> steps = lock_.world().steps();
    std::erase_if(steps, [](const Step& s) { return s.kind == Step::Kind::timer; });
    ASSERT_FALSE(steps.empty());
    lock_.world().run(steps.front());
  }
  ASSERT_EQ(ensemble().remove(LockWorld::kPath + ("/" + lock_.nodes().at(0))), Status::ok);
  run();
  ASSERT_TRUE(is_granted(call));
  EXPECT_TRUE(ensemble().find(lock_.call(call).node)) << "it has queued again";
  EXPECT_EQ(markers(), 1U);
  release(call);
  expect_rest();
}

TEST_F(LockDelay, NoPermissionForMarker_FailsWithNoAuth) {
  client(0).fail_next(Kind::transaction, Status::no_auth);
  const auto call = lock_.acquire(0, delayed());
  run();
  EXPECT_EQ(error(call), Errc::no_auth);
  EXPECT_EQ(lock_.nodes().size(), 0U);
  expect_rest();
}

TEST_F(LockDelay, CrashDuringMarkerDelete_NextDelayedOrNot) {
  for (const bool carried_out : {true, false}) {
    const auto holder = granted(0, delayed());
    const auto first = waiting(1);
    const auto second = waiting(2);
    lose(0);
    if (carried_out) {
      lock_.world().lose_reply(1, Kind::transaction);
    } else {
      lock_.world().lose_request(1, Kind::transaction);
    }
    run_for(kDelay);
    EXPECT_FALSE(is_granted(first));
    EXPECT_EQ(markers(), carried_out ? 0U : 1U);
    const Instant lost_at = now();
    lose(1);
    if (!carried_out) run_for(kDelay);
    EXPECT_TRUE(is_granted(second)) << carried_out;
    EXPECT_EQ(now() - lost_at, carried_out ? 0s : Duration(kDelay));
    for (const std::size_t c : {0U, 1U}) lock_.world().reconnect(c);
    release(second);
    run();
    release(first);
    release(holder);
    expect_rest();
  }
}

}  // namespace
}  // namespace zklock::model
