// SPDX-License-Identifier: Apache-2.0
// The loss of a hold: its reason, its notification, and the hand-off after it.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/path_lock_fixture.h"
#include "tests/support/lock_event_words.h"
#include "zklock/core/child_nodes.h"
#include "zklock/recipes/composite/composite_hold_record.h"

namespace zklock::model {
namespace {

class LossReasonTest : public PathLockTest {
 protected:
  std::optional<LossReason> reason(std::size_t call) { return lock_.call(call).hold.loss_reason(); }
  std::shared_ptr<detail::LockEventQueue> listener() {
    const std::shared_ptr<client::Dispatcher> dispatcher(std::shared_ptr<void>(),
                                                         &lock_.world().dispatcher(0));
    return std::make_shared<detail::LockEventQueue>(
        [this](const LockEvent& event) { events_.push_back(event); }, dispatcher);
  }

  std::vector<LockEvent> events_;
};

TEST_F(LossReasonTest, ValidReleasedAndEmptyHold_HaveNone) {
  const auto call = granted(0);
  EXPECT_EQ(reason(call), std::nullopt);
  lock_.release(call);
  EXPECT_EQ(reason(call), std::nullopt);
  EXPECT_EQ(Hold().loss_reason(), std::nullopt);
  EXPECT_EQ(Leadership().loss_reason(), std::nullopt);
}

// The hold, the last event of the listener, and the metrics have the same reason.
TEST_F(LossReasonTest, EachLoss_HasItsReason) {
  using Happens = std::function<void(std::size_t call)>;
  const auto is_forced = [&](std::size_t) {
    request_release(core::kReleaseRequestForces);
    run_for(2s);
    withdraw_request();
  };
  const auto lease_ends = [&](std::size_t) {
    lock_.world().isolate(0);
    run_for(5s);
    lock_.world().heal(0);
  };
  const std::vector<std::pair<LossReason, Happens>> losses = {
      {LossReason::lease_expired, lease_ends},
      {LossReason::session_expired, [&](std::size_t) { lock_.world().expire(0); }},
      {LossReason::node_deleted,
       [&](std::size_t call) { ensemble().remove(lock_.call(call).node); }},
      {LossReason::max_hold, [&](std::size_t) { run_for(3s); }},
      {LossReason::forced, is_forced},
      {LossReason::closed, [&](std::size_t) { lock_.core(0).close(); }}};
  for (const auto& [expected, happens] : losses) {
    const auto index = static_cast<std::size_t>(expected);
    SCOPED_TRACE(index);
    const bool expires = expected == LossReason::max_hold;
    const bool closes = expected == LossReason::closed;
    const std::string label = std::to_string(index);
    core::HoldLimit limit;
    if (expires) limit.longest = 3s;
    const auto call = granted(
        0, {.limit = limit, .listener = listener(), .metrics = {&lock_.core(0).metrics_of(label)}});
    EXPECT_EQ(events_.back().reason, std::nullopt);
    happens(call);
    run_for(1s);
    EXPECT_EQ(reason(call), expected);
    EXPECT_EQ(events_.back().kind, expires ? LockEvent::Kind::expired : LockEvent::Kind::lost);
    EXPECT_EQ(events_.back().reason, expected);
    lock_.release(call);
    const auto all = lock_.core(0).metrics().locks;
    const LockMetrics metrics = *std::ranges::find(all, label, &LockMetrics::lock);
    for (std::size_t i = 0; i < metrics.losses.size(); ++i) {
      EXPECT_EQ(metrics.losses.at(i), i == index ? 1U : 0U) << i;
    }
    const HoldEnd end = expires ? HoldEnd::expired : closes ? HoldEnd::closed : HoldEnd::lost;
    for (std::size_t i = 0; i < metrics.ended_holds.size(); ++i) {
      const bool is_end = i == static_cast<std::size_t>(end);
      EXPECT_EQ(metrics.ended_holds.at(i).count(), is_end ? 1U : 0U) << i;
    }
    EXPECT_EQ(metrics.holds, 0U);
    if (!closes) lock_.connect_all();
    run_for(10s);
  }
}

// The process is paused. The query comes before its timers run, and then the session ends too.
TEST_F(LossReasonTest, QueriedBeforeTheTimer_IsTheLease) {
  const auto call = granted(0, {.listener = listener()});
  lock_.world().pause(0);
  lock_.world().run_for(1h);
  EXPECT_EQ(reason(call), LossReason::lease_expired);
  lock_.world().expire(0);
  lock_.world().resume(0);
  lock_.world().run_for(1s);
  EXPECT_EQ(reason(call), LossReason::lease_expired) << "the first reason stays";
  ASSERT_EQ(events_.back().kind, LockEvent::Kind::lost);
  EXPECT_EQ(events_.back().reason, LossReason::lease_expired);
}

TEST_F(LossReasonTest, MaximumHoldTimeQueriedFirst_Stays) {
  const auto call = granted(0, {.limit = {.longest = 3s}, .listener = listener()});
  lock_.world().pause(0);
  lock_.world().run_for(3s + 1ns);
  EXPECT_EQ(reason(call), LossReason::max_hold);
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::lost);
  lock_.world().run_for(1h);
  lock_.world().resume(0);
  lock_.world().run_for(1s);
  EXPECT_EQ(reason(call), LossReason::max_hold);
  ASSERT_EQ(events_.size(), 2U) << "acquired and expired, without a warning";
  EXPECT_EQ(events_.back().kind, LockEvent::Kind::expired);
}

TEST_F(LossReasonTest, Leadership_HasTheReasonAfterItsEnd) {
  for (const bool is_lost : {true, false}) {
    const auto candidate = std::make_shared<TestCandidate>(lock_.core(0));
    candidate->contend();
    run();
    const Leadership leadership = candidate->leadership_state()->leadership();
    EXPECT_EQ(leadership.loss_reason(), std::nullopt);
    const std::weak_ptr<detail::Contender> leader = candidate->leadership_state()->leader("");
    is_lost ? void(ensemble().remove(leadership.node())) : candidate->withdraw();
    run();
    EXPECT_EQ(leadership.state(), HoldState::lost);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(leadership.loss_reason().has_value(), is_lost);
      EXPECT_EQ(leadership.loss_reason().value_or(LossReason::node_deleted),
                LossReason::node_deleted);
      candidate->close();
      run();
    }
    EXPECT_TRUE(leader.expired()) << "a Leadership keeps no contender";
  }
}

class LossNotificationTest : public PathLockTest {
 protected:
  using PathLockTest::PathLockTest;

  /// Returns how many deletes of its znode client 0 has sent.
  std::size_t handed_over() {
    return client(0).requests(OperationKind::announce_and_delete) +
           client(0).requests(OperationKind::remove);
  }
  std::shared_ptr<TestCandidate> leading(bool until_finished) {
    auto candidate = std::make_shared<TestCandidate>(lock_.core(0), until_finished);
    candidate->contend();
    run();
    EXPECT_TRUE(candidate->leads());
    return candidate;
  }

  /// The number of deletes sent when the user's callback ran.
  std::optional<std::size_t> when_notified_;
  struct NoteTime {
    LossNotificationTest& test;
    void operator()() const { test.when_notified_ = test.handed_over(); }
  };
  using OnLoss = std::stop_callback<NoteTime>;
};

TEST_F(LossNotificationTest, LeadershipForced_HandsOffAfterEndCallback) {
  const auto candidate = leading(false);
  const Leadership leadership = candidate->leadership_state()->leadership();
  const OnLoss on_end(leadership.end_token(), NoteTime{*this});
  request_release(core::kReleaseRequestForces);
  lock_.world().run_for(5s);
  EXPECT_EQ(when_notified_, 0U);
  EXPECT_EQ(handed_over(), 1U);
  EXPECT_EQ(leadership.state(), HoldState::lost);
  withdraw_request();
  candidate->close();
}

class LongLossLimitTest : public LossNotificationTest {
 protected:
  static ClientOptions five_seconds() {
    ClientOptions options;
    options.loss_callback_limit = 5s;
    return options;
  }
  LongLossLimitTest() : LossNotificationTest(five_seconds()) {}

  /// Forces the release of a leader whose function still runs.
  void SetUp() override {
    LossNotificationTest::SetUp();
    candidate_ = leading(true);
    const auto state = candidate_->leadership_state();
    attempt_ = state->attempt();
    request_release(core::kReleaseRequestForces);
    ASSERT_TRUE(lock_.world().run_until([&] { return state->end_token().stop_requested(); }, 5s));
  }
  void TearDown() override {
    withdraw_request();
    candidate_->close();
    LossNotificationTest::TearDown();
  }
  void returns() {
    candidate_->finished(attempt_, core::LeaderEnd::returned);
    run();
  }

  std::shared_ptr<TestCandidate> candidate_;
  core::ElectionFsm::Attempt attempt_{};
};

// Meanwhile the path may have been recreated, and another contender may have the name. So the
// client reads the znode first.
TEST_F(LongLossLimitTest, FunctionReturns_DeleteWaitsForIt) {
  lock_.world().run_for(4s);
  EXPECT_EQ(handed_over(), 0U);
  reset_counts();
  returns();
  EXPECT_EQ(client(0).requests(Kind::get), 1U);
  EXPECT_EQ(client(0).requests(Kind::remove), 1U);
  EXPECT_EQ(handed_over(), 1U);
}

TEST_F(LongLossLimitTest, FunctionNeverReturns_DeletedAtLimit) {
  lock_.world().run_for(4900ms);
  EXPECT_EQ(handed_over(), 0U);
  lock_.world().run_for(200ms);
  EXPECT_EQ(handed_over(), 1U);
  returns();
}

TEST_F(LossNotificationTest, PartLost_HandsOffAfterLossOfComposite) {
  const auto call = granted(0, {.limit = {.longest = 3s}});
  std::vector<detail::CompositeHoldRecord::Part> parts;
  parts.push_back({std::move(lock_.call(call).hold), lock_.core(0).shared_from_this(), 0});
  auto held =
      std::make_shared<detail::CompositeHoldRecord>(Owner::unique(), std::move(parts), 1, 1);
  reset_counts();
  {
    const OnLoss on_loss(held->loss_token(), NoteTime{*this});
    lock_.world().run_for(5s);
  }
  EXPECT_EQ(when_notified_, 0U);
  EXPECT_EQ(handed_over(), 1U);
  detail::CompositeHoldRecord::release(std::move(held));
}

class LeadershipStateTest : public LossReasonTest {
 protected:
  HoldState state(std::size_t call) { return lock_.call(call).hold.state(); }
  bool has_node(std::size_t call) { return ensemble().find(lock_.call(call).node) != nullptr; }
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
};

TEST_F(LeadershipStateTest, EndOfHold_NotifiesLossBeforeDelete) {
  for (const bool forced : {true, false}) {
    core::HoldLimit limit;
    if (!forced) limit.longest = 8s;
    const auto call =
        granted(0, {.owner = Owner::unique(), .limit = limit, .listener = listener()});
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
    EXPECT_EQ(events_.back().kind, forced ? LockEvent::Kind::lost : LockEvent::Kind::expired);
    EXPECT_TRUE(is_granted(second));
    finish();
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
}

TEST_F(LeadershipStateTest, RenewedWithFirstLimit_LimitIsReported) {
  const auto call = granted(0, {.listener = listener()});
  run_for(7s);
  EXPECT_TRUE(lock_.call(call).hold.renew(2s));
  run_for(2s - 1ns);
  EXPECT_EQ(state(call), HoldState::held);
  EXPECT_EQ(events_.back().kind, LockEvent::Kind::expiring);
  run_for(1ns);
  EXPECT_EQ(events_.back().kind, LockEvent::Kind::expired);
  EXPECT_EQ(lock_.losses_notified(call), 1U);
}

TEST_F(LeadershipStateTest, LimitOfCancelledCall_DoesNotCount) {
  const auto first = granted(0);
  const Owner owner = Owner::unique();
  const auto left = waiting(1, {.owner = owner, .limit = {.longest = 4s}});
  const auto stayed = waiting(1, {.owner = owner});
  lock_.cancel(left);
  release(first);
  run_for(8s);
  EXPECT_EQ(state(stayed), HoldState::held);
}

}  // namespace
}  // namespace zklock::model
