// SPDX-License-Identifier: Apache-2.0
// The limits of a hold, and the notifications during it, on the virtual clock.
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/support/lock_event_words.h"
#include "zklock/core/child_nodes.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

using Events = std::vector<std::string>;

class LeadershipStateTest : public PathLockTest {
 protected:
  HoldState state(std::size_t call) { return lock_.call(call).hold.state(); }
  bool has_node(std::size_t call) {
    return lock_.world().ensemble().find(lock_.call(call).node) != nullptr;
  }
  std::shared_ptr<detail::LockEventQueue> listener(std::size_t c) {
    const std::shared_ptr<client::Dispatcher> dispatcher(std::shared_ptr<void>(),
                                                         &lock_.world().dispatcher(c));
    return std::make_shared<detail::LockEventQueue>(
        [this](const LockEvent& event) { events_.push_back(testing::describe(event)); },
        dispatcher);
  }
  /// Runs everything except the tasks of one client's dispatcher, until that time.
  void run_without_tasks_of(std::size_t c, Instant until) {
    for (;;) {
      bool moved = false;
      for (const Step& step : lock_.world().steps()) {
        if (step == Step{Step::Kind::task, c} || step.kind == Step::Kind::timer) continue;
        lock_.world().run(step);
        moved = true;
      }
      if (moved) continue;
      if (lock_.world().clock().next_due() > until) return;
      lock_.world().run({Step::Kind::timer});
    }
  }

  Events events_;
};

TEST_F(LeadershipStateTest, Listener_SendsOneListAndNoneAtGrant) {
  const auto first = granted(0);
  const auto second = waiting(1);
  const auto third = waiting(2, {.listener = listener(2)});
  EXPECT_EQ(client(2).requests(Kind::list_children), 1U);
  EXPECT_EQ(client(2).requests(Kind::get_and_watch), 1U);
  EXPECT_EQ(client(2).requests(), 4U);
  EXPECT_EQ(events_, (Events{"waiting 2"}));
  lock_.cancel(second);
  run();
  EXPECT_EQ(events_, (Events{"waiting 2", "waiting 1"}));
  reset_counts();
  lock_.release(first);
  run();
  EXPECT_EQ(client(2).requests(), 0U);
  lock_.release(third);
  run();
  EXPECT_EQ(events_, (Events{"waiting 2", "waiting 1", "acquired", "released"}));
  expect_rest();
}

TEST_F(LeadershipStateTest, MaximumHoldTime_ExpiresExactlyAndHandsOff) {
  const auto first = granted(0, {.limit = {.longest = 8s, .notice = 3s}, .listener = listener(0)});
  const auto second = waiting(1);
  run_for(5s - 1ns);
  EXPECT_EQ(events_, (Events{"acquired"}));
  run_for(1ns);
  EXPECT_EQ(events_, (Events{"acquired", "expiring"}));
  run_for(3s - 1ns);
  EXPECT_EQ(state(first), HoldState::held);
  EXPECT_FALSE(lock_.call(second).granted());
  run_for(1ns);
  EXPECT_EQ(state(first), HoldState::lost);
  EXPECT_EQ(lock_.losses_notified(first), 1U);
  EXPECT_TRUE(lock_.call(second).granted());
  EXPECT_EQ(client(1).requests(Kind::list_children), 0U);
  EXPECT_EQ(events_, (Events{"acquired", "expiring", "expired"}));
  lock_.release(first);
  lock_.release(second);
  expect_rest();
  EXPECT_EQ(events_.size(), 3U);
}

TEST_F(LeadershipStateTest, EndOfHold_NotifiesLossBeforeDelete) {
  for (const bool forced : {true, false}) {
    core::HoldLimit limit;
    if (!forced) limit.longest = 8s;
    const auto call =
        granted(0, {.owner = Owner::unique(), .limit = limit, .listener = listener(0)});
    const auto second = waiting(1);
    std::optional<std::size_t> deleted_when_notified;
    reset_counts();
    const std::stop_callback on_loss(lock_.call(call).hold.loss_token(), [&] {
      deleted_when_notified = client(0).requests(Kind::announce_and_delete);
    });
    forced ? request_release(core::kReleaseRequestForces) : run_for(8s - 1ns);
    for (int turn = 0; has_node(call) && turn < 1000; ++turn) {
      const bool notified = lock_.losses_notified(call) == 1;
      for (const Step& step : lock_.world().steps()) {
        lock_.world().run(step);
        ASSERT_TRUE(has_node(call) || (notified && state(call) == HoldState::lost));
      }
    }
    EXPECT_FALSE(has_node(call));
    EXPECT_EQ(deleted_when_notified, 0U) << "nothing is sent before";
    if (forced) withdraw_request();
    run();
    EXPECT_EQ(events_.back(), forced ? "lost" : "expired");
    EXPECT_TRUE(lock_.call(second).granted());
    lock_.release(call);
    lock_.release(second);
    expect_rest();
  }
}

TEST_F(LeadershipStateTest, BlockingCallback_DelaysHandoffByOneSecond) {
  const auto start = lock_.world().now();
  const auto first = granted(0, {.limit = {.longest = 8s}});
  const auto second = waiting(1);
  run_without_tasks_of(0, start + 9s - 1ns);
  EXPECT_EQ(state(first), HoldState::lost);
  EXPECT_FALSE(lock_.call(second).granted());
  EXPECT_TRUE(lock_.has_work(0)) << "a flush waits for it";
  run_without_tasks_of(0, start + 9s);
  EXPECT_TRUE(lock_.call(second).granted());
  EXPECT_EQ(lock_.violation(), "");
  lock_.release(first);
  lock_.release(second);
  expect_rest();
}

TEST_F(LeadershipStateTest, RenewedWithFirstLimit_LimitIsReported) {
  const auto call = granted(0, {.listener = listener(0)});
  run_for(7s);
  EXPECT_TRUE(lock_.call(call).hold.renew(2s));
  run_for(2s - 1ns);
  EXPECT_EQ(state(call), HoldState::held);
  EXPECT_EQ(events_, (Events{"acquired", "expiring"}));
  run_for(1ns);
  EXPECT_EQ(events_, (Events{"acquired", "expiring", "expired"}));
  EXPECT_EQ(lock_.losses_notified(call), 1U);
  lock_.release(call);
  expect_rest();
}

TEST_F(LeadershipStateTest, Renewed_HoldTimeStartsAgain) {
  const auto call = granted(0, {.limit = {.longest = 8s}, .listener = listener(0)});
  run_for(7s);
  EXPECT_TRUE(lock_.call(call).hold.renew());
  EXPECT_EQ(events_, (Events{"acquired", "expiring"}));
  run_for(8s - 1ns);
  EXPECT_EQ(state(call), HoldState::held);
  EXPECT_EQ(events_, (Events{"acquired", "expiring", "expiring"}));
  EXPECT_TRUE(lock_.call(call).hold.renew(2s)) << "shorter";
  run_for(2s - 1ns);
  EXPECT_TRUE(lock_.call(call).hold.renew()) << "as agreed last";
  run_for(2s);
  EXPECT_EQ(state(call), HoldState::lost);
  EXPECT_FALSE(lock_.call(call).hold.renew());
  EXPECT_FALSE(lock_.call(call).hold.renew(1h));
  EXPECT_EQ(state(call), HoldState::lost);
  lock_.release(call);
  expect_rest();
}

TEST_F(LeadershipStateTest, AfterPause_FirstStateQueryReportsLost) {
  const auto call = granted(0, {.limit = {.longest = 4s}});
  lock_.world().pause(0);
  lock_.world().run_for(4s);
  lock_.world().resume(0);
  EXPECT_EQ(state(call), HoldState::lost) << "before any timer has run";
  EXPECT_EQ(lock_.losses_notified(call), 0U);
  run();
  EXPECT_EQ(lock_.losses_notified(call), 1U);
  lock_.release(call);
  expect_rest();
}

TEST_F(LeadershipStateTest, PauseBeyondEnd_SendsNoWarning) {
  const auto call = granted(0, {.limit = {.longest = 3s}, .listener = listener(0)});
  lock_.world().pause(0);
  lock_.world().run_for(3s);
  lock_.world().resume(0);
  run();
  EXPECT_EQ(events_, (Events{"acquired", "expired"}));
  lock_.release(call);
  expect_rest();
}

// The session ends after all path locks are closed. Until then replies arrive.
TEST_F(LeadershipStateTest, ClosedClient_IsNotGranted) {
  const auto call = lock_.acquire(1, {.listener = listener(1)});
  lock_.path_lock(1)->close();  // its znode is being created, and will be alone
  run_for(2s);
  EXPECT_EQ(lock_.call(call).outcomes, 1);
  EXPECT_TRUE(lock_.call(call).error.has_value());
  EXPECT_EQ(events_, Events{});
}

TEST_F(LeadershipStateTest, LimitOfCancelledCall_DoesNotCount) {
  const auto first = granted(0);
  const Owner owner = Owner::unique();
  const auto left = waiting(1, {.owner = owner, .limit = {.longest = 4s}});
  const auto stayed = waiting(1, {.owner = owner});
  lock_.cancel(left);
  lock_.release(first);
  run();
  EXPECT_TRUE(lock_.call(stayed).granted());
  run_for(8s);
  EXPECT_EQ(state(stayed), HoldState::held);
  lock_.release(stayed);
  expect_rest();
}

// ---- requests for a release ----------------------------------------------------------------------

TEST_F(LeadershipStateTest, ReleaseRequested_NotifiesAndRetainsHold) {
  const auto call = granted(0, {.listener = listener(0)});
  for (int requests = 0; requests < 2; ++requests) {
    request_release(core::kReleaseRequestAsks);
    run();
    EXPECT_TRUE(lock_.call(call).hold.release_request_token().stop_requested());
    EXPECT_EQ(state(call), HoldState::held);
    withdraw_request();
    run();
  }
  EXPECT_EQ(events_, (Events{"acquired", "release_requested", "release_requested"}));
  lock_.release(call);
  expect_rest();
}

TEST_F(LeadershipStateTest, ShortHold_DoesNotWatchReleaseRequests) {
  const auto call = granted(0);
  run_for(299ms);  // until its first tick
  lock_.release(call);
  run();
  EXPECT_EQ(client(0).requests(Kind::exists_and_watch), 0U);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
