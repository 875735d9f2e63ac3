// SPDX-License-Identifier: Apache-2.0
// The reason of a loss, as a hold, a leadership and a listener report it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "tests/model/test_candidate.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

class LossReasonTest : public PathLockTest {
 protected:
  std::optional<LossReason> reason(std::size_t call) { return lock_.call(call).hold.loss_reason(); }
  std::string marker() {
    const auto name = core::ZnodeName::parse(lock_.nodes().at(0));
    return LockWorld::kPath + ("/" + core::release_request_node(name->sequence));
  }
  std::shared_ptr<detail::LockListener> listener() {
    const std::shared_ptr<client::Dispatcher> dispatcher(std::shared_ptr<void>(),
                                                         &lock_.world().dispatcher(0));
    return std::make_shared<detail::LockListener>(
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

TEST_F(LossReasonTest, SessionExpired_IsTheReason) {
  const auto call = granted(0, {.listener = listener()});
  lock_.world().expire(0);
  run();
  EXPECT_EQ(reason(call), LossReason::session_expired);
  ASSERT_EQ(events_.back().kind, LockEvent::Kind::lost);
  EXPECT_EQ(events_.back().reason, LossReason::session_expired);
  EXPECT_EQ(events_.front().reason, std::nullopt);
  lock_.release(call);
}

TEST_F(LossReasonTest, QuorumDoesNotAnswer_LeaseHasExpired) {
  const auto call = granted(0);
  lock_.world().isolate(0);
  ASSERT_TRUE(lock_.world().run_until([&] { return !lock_.call(call).hold.is_valid(); }, 60s));
  EXPECT_EQ(reason(call), LossReason::lease_expired);
  lock_.release(call);
}

TEST_F(LossReasonTest, ZnodeDeleted_IsTheReason) {
  const auto call = granted(0);
  run_for(1s);  // after a tick the contender's znode is watched
  ASSERT_EQ(ensemble().remove(lock_.call(call).node), Status::ok);
  run();
  EXPECT_EQ(reason(call), LossReason::node_deleted);
  lock_.release(call);
}

TEST_F(LossReasonTest, MaximumHoldTime_IsTheReason) {
  const auto call = granted(0, {.limit = {.longest = 3s}, .listener = listener()});
  run_for(4s);
  EXPECT_EQ(reason(call), LossReason::max_hold);
  ASSERT_EQ(events_.back().kind, LockEvent::Kind::expired);
  EXPECT_EQ(events_.back().reason, LossReason::max_hold);
  lock_.release(call);
}

TEST_F(LossReasonTest, ForcedRelease_IsTheReason) {
  const auto call = granted(0);
  run_for(2s);  // shorter holds do not watch for a request
  const std::string request = marker();
  ASSERT_EQ(ensemble().create(request, std::string(core::kReleaseRequestForces)), Status::ok);
  run_for(2s);
  EXPECT_EQ(reason(call), LossReason::forced);
  ASSERT_EQ(ensemble().remove(request), Status::ok);
  lock_.release(call);
}

TEST_F(LossReasonTest, ClientClosed_IsTheReason) {
  const auto call = granted(0);
  lock_.core(0).close();
  EXPECT_EQ(reason(call), LossReason::closed);
  lock_.release(call);
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
  ASSERT_EQ(ensemble().remove(leadership.node()), Status::ok);
  lock_.world().run_for(5s);
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
