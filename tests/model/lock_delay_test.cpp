// SPDX-License-Identifier: Apache-2.0
// The delay after a loss, on the virtual clock.
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/lock_delay_fixture.h"

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

// ---- after a release ----------------------------------------------------------------------------

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

// The client looks whether the transaction was executed, and sends it again as a whole.
TEST_F(LockDelay, ReleaseOutcomeUnknown_CausesNoDelay) {
  for (const bool executed : {true, false}) {
    SCOPED_TRACE(executed);
    const auto holder = granted(0, delayed());
    const auto next = waiting(1);
    executed ? lock_.world().lose_reply(0, Kind::transaction)
             : lock_.world().lose_request(0, Kind::transaction);
    const Instant released = now();
    release(holder);
    EXPECT_EQ(is_granted(next), executed);
    reset_counts();
    lock_.world().reconnect(0);
    run();
    EXPECT_TRUE(is_granted(next));
    EXPECT_EQ(now(), released) << "without a delay";
    EXPECT_EQ(client(0).requests(Kind::transaction), executed ? 0U : 1U);
    EXPECT_EQ(client(0).requests(Kind::remove), executed ? 1U : 0U) << "of the marker alone";
    release(next);
    expect_rest();
  }
}

// ---- after a loss -------------------------------------------------------------------------------

// Each kind of loss leaves the delay, and a release of the lost hold does not end it.
TEST_F(LockDelay, EachLoss_CausesDelay) {
  struct Row {
    const char* loss;
    Request request;
    std::function<void(std::size_t holder)> happens;
  };
  Request limited = delayed();
  limited.limit = {.longest = 3s};
  Request of_thread = delayed();
  of_thread.kind = core::CountKind::lock;
  const std::vector<Row> rows = {
      {"the session expires", delayed(),
       [&](std::size_t) {
         lose(0);
         lock_.world().reconnect(0);  // the release follows in a new session
       }},
      {"the process crashes", delayed(), [&](std::size_t) { lock_.world().disconnect(0); }},
      {"the znode is deleted", delayed(),
       [&](std::size_t holder) {
         run_for(1s);  // until the watch on it is set
         ensemble().remove(lock_.call(holder).node);
       }},
      {"the maximum hold time ends", limited, [](std::size_t) {}},
      {"a request forces the release", delayed(),
       [&](std::size_t) {
         request_release(core::kReleaseRequestForces);
         run();
         withdraw_request();
       }},
      {"the thread exits", of_thread,
       [&](std::size_t holder) { lock_.path_lock(0)->thread_exits(lock_.call(holder).owner); }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.loss);
    Request request = row.request;
    request.owner = Owner::unique();
    const auto holder = granted(0, request);
    const auto next = waiting(1);
    row.happens(holder);
    const auto is_gone = [&] { return ensemble().find(lock_.call(holder).node) == nullptr; };
    ASSERT_TRUE(lock_.world().run_until(is_gone));
    run();
    release(holder);
    EXPECT_EQ(markers(), 1U);
    expect_granted_after(kDelay, next);
    EXPECT_EQ(markers(), 0U);
    release(next);
    lock_.world().reconnect(0);
    expect_rest();
  }
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
  ASSERT_EQ(ensemble().remove(child(lock_.nodes().at(0))), Status::ok);
  release(holder);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
