// SPDX-License-Identifier: Apache-2.0
// The reason of a loss, as a hold, a leadership, a listener and the metrics report it.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/test_candidate.h"

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
  lock_.release(call);
}

TEST_F(LossReasonTest, MaximumHoldTimeQueriedFirst_Stays) {
  const auto call = granted(0, {.limit = {.longest = 3s}, .listener = listener()});
  lock_.world().pause(0);
  lock_.world().run_for(3s + 1ns);
  EXPECT_EQ(reason(call), LossReason::max_hold);
  lock_.world().run_for(1h);
  lock_.world().resume(0);
  lock_.world().run_for(1s);
  EXPECT_EQ(reason(call), LossReason::max_hold);
  EXPECT_EQ(events_.back().kind, LockEvent::Kind::expired);
  lock_.release(call);
}

TEST_F(LossReasonTest, Leadership_HasTheReasonAfterItsEnd) {
  const auto candidate = std::make_shared<TestCandidate>(lock_.core(0));
  candidate->contend();
  run();
  const Leadership leadership = candidate->leadership_state()->leadership();
  EXPECT_EQ(leadership.loss_reason(), std::nullopt);
  EXPECT_EQ(client(0).requests(OperationKind::get_and_watch), 1U) << "its znode, at the grant";
  ASSERT_EQ(ensemble().remove(leadership.node()), Status::ok);
  run();
  EXPECT_TRUE(leadership.end_token().stop_requested());
  EXPECT_EQ(leadership.loss_reason(), LossReason::node_deleted);
  candidate->close();
  run();
  EXPECT_EQ(leadership.loss_reason(), LossReason::node_deleted);
}

TEST_F(LossReasonTest, WithdrawnLeadership_HasNone) {
  const auto candidate = std::make_shared<TestCandidate>(lock_.core(0));
  candidate->contend();
  run();
  const Leadership leadership = candidate->leadership_state()->leadership();
  candidate->withdraw();
  run();
  EXPECT_EQ(leadership.state(), HoldState::lost);
  EXPECT_EQ(leadership.loss_reason(), std::nullopt);
  candidate->close();
  run();
}

}  // namespace
}  // namespace zklock::model
