// SPDX-License-Identifier: Apache-2.0
// A contender that does not count the children: it expects others, or its sequence number suffices.
#include <gtest/gtest.h>

#include "acquire_steps.h"

namespace zklock::core {
namespace {

using namespace acquire_test;

const AcquireFsm::Policy kNotCounting{.count_children = false};

TEST(AcquireFsmCrowd, NotCounting_WatchesPredictedPredecessor) {
  Steps steps(kNotCounting);
  steps.start();
  EXPECT_FALSE(steps.fsm().is_counting_children());
  EXPECT_EQ(steps.created(5), "watch " + node(4) + " @a");
  EXPECT_EQ(steps.state(), State::arming);
  EXPECT_FALSE(steps.fsm().predecessors().has_waited());
}

TEST(AcquireFsmCrowd, CreatedFirst_IsGrantedByTheCreate) {
  Steps steps(kNotCounting);
  steps.start();
  EXPECT_EQ(steps.created_first(5), "grant @a");
  EXPECT_FALSE(steps.fsm().predecessors().has_waited());
}

TEST(AcquireFsmCrowd, CreatedFirstWithoutLease_IsConfirmed) {
  Steps steps(kNotCounting);
  steps.start();
  EXPECT_EQ(steps.created_first(5, false), "check_own @a");
  EXPECT_EQ(steps.checked(Status::ok), "grant @a");
}

TEST(AcquireFsmCrowd, CreatedFirstWithLockDelay_MarksBeforeGrant) {
  Steps steps({.count_children = false, .lock_delay = std::chrono::seconds(3)});
  steps.start();
  EXPECT_EQ(steps.created_first(5).substr(0, 5), "mark ");
}

TEST(AcquireFsmCrowd, CreatedFirstAfterWithdrawal_RemovesNode) {
  Steps steps(kNotCounting);
  steps.start();
  steps.withdraw();
  EXPECT_EQ(steps.created_first(5), "remove_node " + node(5) + " @a");
}

TEST(AcquireFsmCrowd, CreatedFirstWhileCounting_AwaitsTheCount) {
  Steps steps;
  steps.start();
  EXPECT_EQ(steps.created_first(5), "") << "the answer to the count is on its way";
}

TEST(AcquireFsmCrowd, PredictedPredecessorMissing_Lists) {
  Steps steps(kNotCounting);
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.watched(Status::no_node), "list @a");
  EXPECT_EQ(steps.listed({node(5)}), "grant @a");
  EXPECT_FALSE(steps.fsm().predecessors().has_waited()) << "for the next, the lock was free";
}

TEST(AcquireFsmCrowd, NoPredictablePredecessor_Lists) {
  Steps steps(kNotCounting);
  steps.start();
  EXPECT_EQ(steps.created(0), "list @a");
}

TEST(AcquireFsmCrowd, WatchArmed_ReportsThatItWaited) {
  Steps steps(kNotCounting);
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.watched(data_of("other")), "");
  EXPECT_TRUE(steps.fsm().predecessors().has_waited());
  EXPECT_EQ(steps.predecessor_released(), "grant @a");
}

TEST(AcquireFsmCrowd, CreateOutcomeUnknown_StartsRecovery) {
  Steps steps(kNotCounting);
  steps.start();
  EXPECT_EQ(steps.created(Status::unknown), "check_path @a");
  EXPECT_EQ(steps.state(), State::proving);
}

TEST(AcquireFsmCrowd, ParentMissing_CreatesParents) {
  Steps steps(kNotCounting);
  steps.start();
  EXPECT_EQ(steps.created(Status::no_node), "create_parents");
}

TEST(AcquireFsmCrowd, WithdrawnDuringCreate_RemovesNode) {
  Steps steps(kNotCounting);
  steps.start();
  steps.withdraw();
  EXPECT_EQ(steps.created(5), "remove_node " + node(5) + " @a");
  EXPECT_EQ(steps.state(), State::ended);
}

TEST(AcquireFsmCrowd, PredictionNotAllowed_Counts) {
  for (const AcquireFsm::Policy& policy :
       {AcquireFsm::Policy{.wait = false, .count_children = false},
        AcquireFsm::Policy{.always_list = true, .count_children = false},
        AcquireFsm::Policy{.rule = QueueRule::writer(), .count_children = false}}) {
    Steps steps(policy);
    steps.start();
    EXPECT_TRUE(steps.fsm().is_counting_children());
    EXPECT_EQ(steps.created(5), "");
  }
}

}  // namespace
}  // namespace zklock::core
