// SPDX-License-Identifier: Apache-2.0
// A loss by request or by the maximum hold time is notified before the lock is handed off. The rule
// also applies to indirect receivers of the notification.
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/test_candidate.h"
#include "zklock/recipes/composite/composite_grant.h"

namespace zklock::model {
namespace {

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
  expect_rest();
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
  std::shared_ptr<TestCandidate> forced() {
    auto candidate = leading(true);
    const auto state = candidate->leadership_state();
    attempt_ = state->attempt();
    request_release(core::kReleaseRequestForces);
    EXPECT_TRUE(lock_.world().run_until([&] { return state->end_token().stop_requested(); }, 5s));
    return candidate;
  }
  void end(const std::shared_ptr<TestCandidate>& candidate) {
    withdraw_request();
    candidate->close();
    expect_rest();
  }

  core::ElectionFsm::Attempt attempt_{};
};

TEST_F(LongLossLimitTest, FunctionReturns_DeleteWaitsForIt) {
  const auto candidate = forced();
  lock_.world().run_for(4s);
  EXPECT_EQ(handed_over(), 0U);
  candidate->finished(attempt_, core::LeaderEnd::returned);
  run();
  EXPECT_EQ(handed_over(), 1U);
  end(candidate);
}

TEST_F(LongLossLimitTest, FunctionNeverReturns_DeletedAtLimit) {
  const auto candidate = forced();
  lock_.world().run_for(4900ms);
  EXPECT_EQ(handed_over(), 0U);
  lock_.world().run_for(200ms);
  EXPECT_EQ(handed_over(), 1U);
  candidate->finished(attempt_, core::LeaderEnd::returned);
  end(candidate);
}

// Meanwhile the path may have been recreated, and another contender may have the name.
TEST_F(LongLossLimitTest, LateDelete_ReadsTheZnodeFirst) {
  const auto candidate = forced();
  lock_.world().run_for(4s);
  reset_counts();
  candidate->finished(attempt_, core::LeaderEnd::returned);
  run();
  EXPECT_EQ(client(0).requests(OperationKind::get), 1U);
  EXPECT_EQ(client(0).requests(OperationKind::announce_and_delete), 0U);
  EXPECT_EQ(client(0).requests(OperationKind::remove), 1U);
  end(candidate);
}

TEST_F(LossNotificationTest, PartLost_HandsOffAfterLossOfComposite) {
  const auto call = granted(0, {.limit = {.longest = 3s}});
  std::vector<detail::CompositeGrant::Part> parts;
  parts.push_back({std::move(lock_.call(call).hold), lock_.core(0).shared_from_this(), 0});
  auto held = std::make_shared<detail::CompositeGrant>(Owner::unique(), std::move(parts), 1, 1);
  reset_counts();
  {
    const OnLoss on_loss(held->loss_token(), NoteTime{*this});
    lock_.world().run_for(5s);
  }
  EXPECT_EQ(when_notified_, 0U);
  EXPECT_EQ(handed_over(), 1U);
  detail::CompositeGrant::release(std::move(held));
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
