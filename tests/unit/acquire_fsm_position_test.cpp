// SPDX-License-Identifier: Apache-2.0
// A contender whose caller wants its position in the queue.
#include <gtest/gtest.h>

#include "acquire_steps.h"

namespace zklock::core {
namespace {

using namespace acquire_test;

TEST(AcquireFsmPosition, PredictedPredecessor_WatchedWithoutAList) {
  Steps steps;
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.counted(3), "watch " + node(4) + " @a");
}

TEST(AcquireFsmPosition, ListsPolicy_ListsForThePosition) {
  Steps steps({.always_list = true});
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.counted(3), "list @a");
  EXPECT_EQ(steps.listed({node(3), node(2), node(5), node(6), "other"}),
            "watch " + node(3) + " @a");
  EXPECT_EQ(steps.state(), State::arming);
  EXPECT_EQ(steps.fsm().predecessors().position(), 2U);
  steps.watched(data_of("other"));
  EXPECT_EQ(steps.predecessor_deleted(), "list @a");
  steps.listed({node(2), node(5)});
  EXPECT_EQ(steps.fsm().predecessors().position(), 1U);
}

TEST(AcquireFsmPosition, Alone_IsGrantedWithoutAList) {
  Steps steps({.always_list = true});
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.counted(1), "grant @a");
}

TEST(AcquireFsmPosition, AnnouncedRelease_IsGranted) {
  Steps steps({.always_list = true});
  steps.start();
  steps.created(5);
  steps.counted(2);
  steps.listed({node(4), node(5)});
  steps.watched(data_of("other"));
  EXPECT_EQ(steps.predecessor_released(), "grant @a");
}

}  // namespace
}  // namespace zklock::core
