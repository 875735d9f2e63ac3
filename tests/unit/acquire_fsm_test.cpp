// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/acquire_fsm.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "acquire_steps.h"

namespace zklock::core::acquire_test {
namespace {

const std::string kOwn = node(5);
const std::string kRemoveOwn = "remove_node lock-0000000005 @a";

TEST(AcquireFsm, Helper_ReachesEveryState) {
  for (const State state : kAllStates) EXPECT_EQ(steps_in(state).state(), state);
}

// Assertions check the invariants of the machines. Only an optimized build for users omits them.
TEST(AcquireFsmDeathTest, RequirementViolated_AssertionEndsTheProgram) {
#ifdef NDEBUG
  GTEST_SKIP() << "this build has no assertions";
#else
  Steps steps = steps_in(State::listing);
  EXPECT_DEATH(steps.withdrawn(), "enqueuing");
#endif
}

// ---- the rows of the table ----------------------------------------------------------------------

TEST(AcquireFsm, Alone_IsGranted) {
  Steps steps = steps_in(State::enqueuing);
  EXPECT_EQ(steps.created(5), "");
  EXPECT_EQ(steps.counted(1), "grant @a");
  EXPECT_EQ(steps.state(), State::granted);
  EXPECT_EQ(steps.fsm().node().name(), kOwn);
  EXPECT_EQ(steps.fsm().node().token().zxid, kTokenOfCreate);
  EXPECT_EQ(steps.fsm().node().session(), kSessionA);
  EXPECT_FALSE(steps.fsm().has_ended());
}

TEST(AcquireFsm, AmongOthers_WatchesPredictedPredecessor) {
  Steps steps = steps_in(State::enqueuing);
  steps.created(5);
  EXPECT_EQ(steps.counted(2), "watch lock-0000000004 @a");
  EXPECT_EQ(steps.state(), State::arming);
}

TEST(AcquireFsm, WithoutAPrediction_Lists) {
  Steps first_name = steps_in(State::enqueuing);
  first_name.created(0);
  EXPECT_EQ(first_name.counted(2), "list @a");

  Steps uncounted = steps_in(State::enqueuing);
  uncounted.created(5);
  EXPECT_EQ(uncounted.counted(Status::no_node), "list @a");

  Steps of_another_session = steps_in(State::enqueuing);
  of_another_session.created(5);
  EXPECT_EQ(of_another_session.counted(1, true, kSessionB), "list @a") << "not even when alone";
  EXPECT_EQ(of_another_session.state(), State::listing);
}

TEST(AcquireFsm, NotInTheList_IsNeverGranted) {
  for (const Children& children : {Children{}, Children{node(6)}, Children{"x-" + kOwn}}) {
    Steps again = steps_in(State::listing);
    EXPECT_EQ(again.listed(children), "create id1.2");
    EXPECT_FALSE(again.fsm().node().exists());
    Steps never = steps_in(State::listing, {.queue_again = false});
    EXPECT_EQ(never.listed(children), node_deleted(kOwn));
    EXPECT_EQ(never.state(), State::ended);
  }
}

TEST(AcquireFsm, ReleasedByItsOwnClient_IsGranted) {
  Steps steps = steps_in(State::waiting);
  ASSERT_TRUE(steps.fsm().waits_for_announcement());
  EXPECT_EQ(steps.predecessor_released(), "grant @a");
  EXPECT_FALSE(steps.fsm().waits_for_announcement());
  EXPECT_EQ(steps.predecessor_released(), "") << "that is known already";
  Steps late = steps_in(State::waiting);
  EXPECT_EQ(late.predecessor_released(false), "check_own @a");
  EXPECT_EQ(late.predecessor_released(), "");
  EXPECT_FALSE(steps_in(State::arming).fsm().waits_for_announcement());
}

TEST(AcquireFsm, ChangeOfUnannouncedNode_ListsAgain) {
  const std::string promising_elsewhere = "zklock 2\nannounces=1\n";
  for (const std::string& data :
       {std::string(), data_of("other", false), std::string("announces=1\n"), promising_elsewhere,
        std::string("zklock 1\nannounces=yes\n"), std::string(kReleasedData)}) {
    Steps steps = steps_in(State::arming);
    EXPECT_EQ(steps.watched(data), "") << data;
    EXPECT_EQ(steps.predecessor_released(), "list @a") << data;
    EXPECT_EQ(steps.state(), State::listing);
  }
}

// The promise of the previous predecessor does not apply to the next one.
TEST(AcquireFsm, NextPredecessorUnannounced_IsNotTrusted) {
  Steps steps = steps_in(State::waiting);
  EXPECT_EQ(steps.predecessor_deleted(), "list @a");
  EXPECT_EQ(steps.listed({node(2), kOwn}), "watch lock-0000000002 @a");
  steps.watched(data_of("kazoo", false));
  EXPECT_EQ(steps.predecessor_released(), "list @a");
}

TEST(AcquireFsm, ConfirmedWithoutALease_PausesAndChecksAgain) {
  Steps steps = steps_in(State::confirming);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(steps.done(Status::ok, false), "pause");
    EXPECT_EQ(steps.state(), State::pausing);
    EXPECT_EQ(steps.resume(), "check_own @a");
    EXPECT_EQ(steps.state(), State::confirming);
  }
  EXPECT_EQ(steps.done(Status::ok, true), "grant @a");
}

// ---- every state and every reply ---------------------------------------------------------------
// The table of transitions has the next states and the kinds of effects.

TEST(AcquireFsm, RefusedRequest_FailsWithItsErrorAndCause) {
  for (const State state : kAskingStates) {
    for (const Status status : kAllStatuses) {
      const bool is_reading_others = state == State::proving || state == State::inspecting;
      if (sort_of(status) != StatusSort::refused) continue;
      if (status == Status::no_auth && is_reading_others) continue;
      EXPECT_THAT(steps_in(state).answer(status, "why"),
                  ::testing::HasSubstr(failure(error_of(status), "why")))
          << to_string(state) << ", " << core::to_string(status);
    }
  }
  EXPECT_EQ(steps_in(State::listing).listed(Status::quota_exceeded),
            kRemoveOwn + ", " + failure(Errc::quota_exceeded));
  EXPECT_EQ(steps_in(State::listing).listed(Status::server_error),
            kRemoveOwn + ", " + failure(Errc::server_error, core::to_string(Status::server_error)));
}

TEST(AcquireFsm, ThrottledRequest_IsRepeatedAfterAPause) {
  for (const State state : kAskingStates) {
    Steps steps = steps_in(state);
    steps.answer(Status::throttled);
    EXPECT_EQ(steps.state(), State::pausing) << to_string(state);
    EXPECT_NE(steps.resume(), "") << to_string(state);
    EXPECT_EQ(steps.state(), state);
    EXPECT_EQ(steps.resume(), "") << "it is not pausing any more";
  }
}

TEST(AcquireFsm, SessionEnded_FailsByPolicyOnlyIfNodeMayExist) {
  for (const State state : kAskingStates) {
    Steps steps = steps_in(state, {.queue_again = false});
    const bool never_was = state == State::enqueuing || state == State::making_parents ||
                           state == State::removing_path || state == State::draining;
    EXPECT_EQ(steps.answer(Status::session_ended),
              never_was ? "create id1.2" : failure(Errc::session_expired))
        << to_string(state);
  }
}

// ---- a contender that does not count the children ----------------------------------------------

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

TEST(AcquireFsmCrowd, PredictedPredecessorMissing_Lists) {
  Steps steps(kNotCounting);
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.watched(Status::no_node), "list @a");
  EXPECT_EQ(steps.listed({node(5)}), "grant @a");
  EXPECT_FALSE(steps.fsm().predecessors().has_waited()) << "for the next, the lock was free";
}

TEST(AcquireFsmCrowd, WatchArmed_ReportsThatItWaited) {
  Steps steps(kNotCounting);
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.watched(data_of("other")), "");
  EXPECT_TRUE(steps.fsm().predecessors().has_waited());
  EXPECT_EQ(steps.predecessor_released(), "grant @a");
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

// ---- a contender whose caller wants its position -----------------------------------------------

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

}  // namespace
}  // namespace zklock::core::acquire_test
