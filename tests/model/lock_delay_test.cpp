// SPDX-License-Identifier: Apache-2.0
// The delay after a loss, on the virtual clock.
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_delay_fixture.h"
#include "zklock/core/child_nodes.h"

namespace zklock::model {
namespace {

// ---- requests -----------------------------------------------------------------------------------

TEST_F(LockDelay, Delay_CostsOneRoundTripAtGrant) {
  const auto call = granted(0, delayed());
  EXPECT_EQ(client(0).requests(), 4U);
  EXPECT_EQ(client(0).requests(Kind::transaction), 1U);
  EXPECT_EQ(client(0).requests(Kind::get), 1U)
      << "and behind it, whether that was the client's own znode";
  EXPECT_EQ(markers(), 1U);
  reset_counts();
  release(call);
  EXPECT_EQ(client(0).requests(), 1U);
  EXPECT_EQ(client(0).requests(Kind::transaction), 1U) << "both at once";
  expect_rest();
}

TEST_F(LockDelay, ZeroDelay_CostsNothing) {
  const auto call = granted(0, delayed(0ms));
  EXPECT_EQ(client(0).requests(), 2U);
  reset_counts();
  release(call);
  EXPECT_EQ(client(0).requests(), 1U);
  expect_rest();
}

// ---- after a release ----------------------------------------------------------------------------

TEST_F(LockDelay, Release_GrantsNextAtOnce) {
  const auto holder = granted(0, delayed());
  const auto next = waiting(1, delayed());
  const auto last = waiting(2);
  reset_counts();
  const Instant released = now();
  release(holder);
  EXPECT_TRUE(is_granted(next));
  EXPECT_EQ(client(1).requests(Kind::list_children), 0U);
  EXPECT_EQ(client(1).requests(), 2U) << "its own marker, and behind it whose node is there";
  release(next);
  EXPECT_TRUE(is_granted(last));
  EXPECT_EQ(now(), released);
  release(last);
  expect_rest();
}

TEST_F(LockDelay, LostReplyToRelease_CausesNoDelay) {
  for (const bool carried_out : {true, false}) {
    const auto holder = granted(0, delayed());
    const auto next = waiting(1);
    if (carried_out) {
      lock_.world().lose_reply(0, Kind::transaction);
    } else {
      lock_.world().lose_request(0, Kind::transaction);
    }
    const Instant released = now();
    lock_.release(holder);
    run();
    EXPECT_EQ(is_granted(next), carried_out);
    lock_.world().reconnect(0);
    run();
    EXPECT_TRUE(is_granted(next)) << carried_out;
    EXPECT_EQ(now(), released);
    release(next);
    expect_rest();
  }
}

// One transaction deletes the znode and the marker. With two requests, one could arrive late.
TEST_F(LockDelay, ReleaseRefused_IsRetriedAsWhole) {
  const auto holder = granted(0, delayed());
  const auto next = waiting(1);
  for (const Status status : {Status::throttled, Status::read_only, Status::server_error}) {
    client(0).fail_next(Kind::transaction, status);
  }
  release(holder);
  for (int refused = 1; refused < 3; ++refused) {
    EXPECT_EQ(lock_.call(next).outcomes, 0);
    EXPECT_EQ(lock_.nodes().size(), 3U) << "the holder, its marker, and the next one";
    run_for(250ms);
  }
  run_for(250ms);
  EXPECT_TRUE(is_granted(next)) << "at once";
  release(next);
  expect_rest();
}

TEST_F(LockDelay, CancelledDuringGrant_LeavesNoDelay) {
  for (std::size_t at = 0; at < 12; ++at) {
    const auto call = lock_.acquire(0, delayed());
    for (std::size_t i = 0; i < at; ++i) {
      std::vector<Step> steps = lock_.world().steps();
      std::erase_if(steps, [](const Step& s) { return s.kind == Step::Kind::timer; });
      if (!steps.empty()) lock_.world().run(steps.front());
    }
    lock_.cancel(call);
    run();
    release(call);
    EXPECT_EQ(lock_.nodes().size(), 0U) << at;
    expect_rest();
  }
}

// ---- after a loss -------------------------------------------------------------------------------

TEST_F(LockDelay, HolderLost_DelaysNextGrant) {
  const auto holder = granted(0, delayed());
  const auto next = waiting(1);
  lose(0);
  expect_granted_after(kDelay, next);
  EXPECT_EQ(markers(), 0U);
  release(next);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, HolderLost_DelayIsOfLostHolder) {
  const auto holder = granted(0, delayed(2s));
  const auto next = waiting(1, delayed(9s));
  lose(0);
  expect_granted_after(2s, next);
  EXPECT_EQ(markers(), 1U) << "its own";
  release(next);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, NoWaiterAtLoss_DelayStartsWithNext) {
  const auto holder = granted(0, delayed());
  lose(0);
  run_for(1h);
  EXPECT_EQ(markers(), 1U);
  const auto next = waiting(1);
  expect_granted_after(kDelay, next);
  release(next);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, TwoWaiters_OnlyFirstIsDelayed) {
  const auto holder = granted(0, delayed());
  const auto first = waiting(1);
  const auto second = waiting(2);
  lose(0);
  expect_granted_after(kDelay, first);
  release(first);
  EXPECT_TRUE(is_granted(second)) << "at once";
  release(second);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, FirstWaiterCancelled_DelayStartsAgain) {
  const auto holder = granted(0, delayed());
  const auto first = waiting(1);
  const auto second = waiting(2);
  lose(0);
  run_for(kDelay - 1s);
  lock_.cancel(first);
  run();
  expect_granted_after(kDelay, second);
  release(second);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, SessionOfWaiterEnds_DelayContinues) {
  const auto holder = granted(0, delayed());
  const auto next = waiting(1);
  lose(0);
  run_for(kDelay - 1s);
  lose(1);
  lock_.world().reconnect(1);
  run();
  EXPECT_EQ(lock_.call(next).outcomes, 0);
  expect_granted_after(1s, next);
  release(next);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, RepeatedSingleAttempts_DelayElapses) {
  const auto holder = granted(0, delayed());
  lose(0);
  for (const Duration passed : {0ns, Duration(kDelay) - 1ns}) {
    run_for(passed);
    const auto early = lock_.acquire(1, within(0s));
    run();
    EXPECT_EQ(lock_.call(early).outcomes, 1);
    EXPECT_FALSE(is_granted(early));
  }
  run_for(1ns);
  const auto once = lock_.acquire(1, within(0s));
  run();
  EXPECT_TRUE(is_granted(once)) << "its client has known for long enough";
  release(once);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, ChainOfLosses_DelaysEachGrant) {
  const auto first = granted(0, delayed());
  const auto second = waiting(1, delayed(3s));
  const auto third = waiting(2);
  lose(0);
  expect_granted_after(kDelay, second);
  lose(1);
  expect_granted_after(3s, third);
  release(first);
  release(second);
  release(third);
  expect_rest();
}

TEST_F(LockDelay, DeadlineDuringDelay_IsNotPostponed) {
  const auto holder = granted(0, delayed());
  const auto timed = waiting(1, within(3s));
  const auto patient = waiting(2);
  lose(0);
  run_for(3s - 1ns);
  EXPECT_EQ(lock_.call(timed).outcomes, 0);
  run_for(1ns);
  EXPECT_EQ(lock_.call(timed).outcomes, 1);
  EXPECT_FALSE(is_granted(timed));
  EXPECT_EQ(lock_.nodes().size(), 2U) << "the marker and the remaining waiter";
  expect_granted_after(kDelay, patient);
  release(patient);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, SingleAttemptDuringDelay_FailsAtOnce) {
  const auto holder = granted(0, delayed());
  lose(0);
  const auto once = lock_.acquire(1, within(0s));
  run();
  EXPECT_EQ(lock_.call(once).outcomes, 1);
  EXPECT_FALSE(is_granted(once));
  EXPECT_EQ(lock_.nodes().size(), 1U) << "the marker stays";
  release(holder);
  expect_rest_after_next();
}

TEST_F(LockDelay, CallCancelled_LeavesNoTimer) {
  const auto holder = granted(0, delayed(24h));
  lose(0);
  lock_.cancel(waiting(1));
  run();
  const std::size_t timers = lock_.world().clock().pending();
  for (int i = 0; i < 3; ++i) {
    lock_.cancel(waiting(1));
    run();
  }
  EXPECT_EQ(lock_.world().clock().pending(), timers);
  ASSERT_EQ(ensemble().remove(LockWorld::kPath + ("/" + lock_.nodes().at(0))), Status::ok);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, SeveralDelays_LongestCounts) {
  for (const auto length : {9s, 1s, 4s}) {
    const auto name = core::DelayMarker::make(length, {length.count()}, {0}).name;
    ASSERT_EQ(ensemble().create(LockWorld::kPath + ("/" + name)), Status::ok);
  }
  const auto next = waiting(1);
  expect_granted_after(9s, next);
  EXPECT_EQ(markers(), 0U);
  release(next);
  expect_rest();
}

// The path must be recreated first, and no contender is granted before that.
TEST_F(LockDelay, CounterAtItsEnd_DelayIsObeyed) {
  const auto holder = granted(0, delayed());
  lose(0);
  ensemble().set_counter(LockWorld::kPath, core::kFirstUnusableSequence.value);
  const auto next = waiting(1);
  expect_granted_after(kDelay, next);
  EXPECT_EQ(lock_.call(next).node, std::string(LockWorld::kPath) + "/lock-0000000000");
  release(next);
  release(holder);
  expect_rest();
}

// ---- losses ------------------------------------------------------------------------------------

TEST_F(LockDelay, HolderCrashes_CausesDelay) {
  const auto holder = granted(0, delayed());
  const auto next = waiting(1);
  lock_.world().disconnect(0);
  ASSERT_TRUE(lock_.world().run_until([&] { return !ensemble().find(lock_.call(holder).node); }));
  run();
  expect_granted_after(kDelay, next);
  release(next);
  release(holder);
  lock_.world().reconnect(0);
  expect_rest();
}

TEST_F(LockDelay, ZnodeDeleted_CausesDelay) {
  const auto holder = granted(0, delayed());
  const auto next = waiting(1);
  ASSERT_EQ(ensemble().remove(lock_.call(holder).node), Status::ok);
  run();
  expect_granted_after(kDelay, next);
  release(next);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, MaximumHoldTimeElapsed_CausesDelay) {
  auto limited = delayed();
  limited.limit = {.longest = 3s};
  const auto holder = granted(0, limited);
  const auto next = waiting(1);
  const auto deleted = [&] { return ensemble().find(lock_.call(holder).node) == nullptr; };
  reset_counts();
  ASSERT_TRUE(lock_.world().run_until(deleted));
  run();
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 0U) << "it would be a grant";
  release(holder);
  EXPECT_EQ(markers(), 1U) << "it comes too late";
  expect_granted_after(kDelay, next);
  release(next);
  expect_rest();
}

TEST_F(LockDelay, ForcedRelease_CausesDelay) {
  const auto holder = granted(0, delayed());
  const auto next = waiting(1);
  run_for(2s);  // shorter holds do not watch for a request
  const auto name = lock_.call(holder).node.substr(std::string(LockWorld::kPath).size() + 1);
  const std::string request =
      LockWorld::kPath + ("/" + core::release_request_node(core::ZnodeName::parse(name)->sequence));
  ASSERT_EQ(ensemble().create(request, std::string(core::kReleaseRequestForces)), Status::ok);
  ASSERT_TRUE(lock_.world().run_until([&] { return !ensemble().find(lock_.call(holder).node); }));
  run();
  ASSERT_EQ(ensemble().remove(request), Status::ok);
  expect_granted_after(kDelay, next);
  release(next);
  release(holder);
  expect_rest();
}

TEST_F(LockDelay, ThreadOfHolderExits_CausesDelay) {
  const Owner owner = Owner::unique();
  auto locking = delayed();
  locking.owner = owner;
  locking.kind = core::CountKind::lock;
  const auto holder = granted(0, locking);
  const auto next = waiting(1);
  lock_.path_lock(0)->thread_exits(owner);
  run();
  expect_granted_after(kDelay, next);
  release(next);
  release(holder);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
