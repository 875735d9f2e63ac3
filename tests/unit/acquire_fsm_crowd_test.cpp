// SPDX-License-Identifier: Apache-2.0
// A contender that expects others does not ask whether it is alone.
#include <gtest/gtest.h>

#include "acquire_steps.h"

namespace zklock::core {
namespace {

using namespace acquire_test;

const AcquireFsm::Policy expecting{.expects_others = true};

TEST(AcquireFsmCrowd, GuessesItsPredecessorWithoutACount) {
  Steps steps(expecting);
  steps.start();
  EXPECT_FALSE(steps.fsm().counts());
  EXPECT_EQ(steps.created(5), "watch " + node(4) + " @a");
  EXPECT_EQ(steps.state(), State::arming);
  EXPECT_FALSE(steps.fsm().waited());
}

TEST(AcquireFsmCrowd, ListsWhenThePredecessorIsNotThere) {
  Steps steps(expecting);
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.watched(Status::no_node), "list @a");
  EXPECT_EQ(steps.listed({node(5)}), "grant @a");
  EXPECT_FALSE(steps.fsm().waited()) << "for the next, the lock was free";
}

TEST(AcquireFsmCrowd, ListsWhereNoPredecessorCanBeGuessed) {
  Steps steps(expecting);
  steps.start();
  EXPECT_EQ(steps.created(0), "list @a");
}

TEST(AcquireFsmCrowd, SaysThatItHasWaited) {
  Steps steps(expecting);
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.watched(data_of("other")), "");
  EXPECT_TRUE(steps.fsm().waited());
  EXPECT_EQ(steps.predecessor_changed(), "grant @a");
}

TEST(AcquireFsmCrowd, RecoversALostCreate) {
  Steps steps(expecting);
  steps.start();
  EXPECT_EQ(steps.created(Status::unknown), "check_parent @a");
  EXPECT_EQ(steps.state(), State::proving);
}

TEST(AcquireFsmCrowd, MakesParents) {
  Steps steps(expecting);
  steps.start();
  EXPECT_EQ(steps.created(Status::no_node), "create_parents");
}

TEST(AcquireFsmCrowd, RemovesTheNodeOfWhoGaveUpMeanwhile) {
  Steps steps(expecting);
  steps.start();
  steps.give_up();
  EXPECT_EQ(steps.created(5), "remove_node " + node(5) + " @a");
  EXPECT_EQ(steps.state(), State::ended);
}

TEST(AcquireFsmCrowd, CountsWhereItMayNotGuess) {
  for (const AcquireFsm::Policy& policy :
       {AcquireFsm::Policy{.wait = false, .expects_others = true},
        AcquireFsm::Policy{.lists = true, .expects_others = true},
        AcquireFsm::Policy{.rule = QueueRule::writer(), .expects_others = true}}) {
    Steps steps(policy);
    steps.start();
    EXPECT_TRUE(steps.fsm().counts());
    EXPECT_EQ(steps.created(5), "");
  }
}

}  // namespace
}  // namespace zklock::core
