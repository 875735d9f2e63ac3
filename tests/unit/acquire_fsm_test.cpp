// SPDX-License-Identifier: Apache-2.0
// The rules of a contender in the queue of a mutex, and the texts of its errors. The search for a
// lost znode, the sequence counter, and contenders with options have files of their own.
// zklock/core/acquire_transitions.md lists all transitions, and the random walk checks the promises.
#include "zklock/core/acquire_fsm.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "acquire_steps.h"

namespace zklock::core::acquire_test {
namespace {

const std::string kOwn = node(5);
const std::string kRemoveOwn = "remove_node lock-0000000005 @a";

// Assertions check the invariants of the machines. Only an optimized build for users omits them.
TEST(AcquireFsmDeathTest, RequirementViolated_AssertionEndsTheProgram) {
#ifdef NDEBUG
  GTEST_SKIP() << "this build has no assertions";
#else
  AcquireFsm fsm("id", 1, {});
  EXPECT_DEATH(fsm.on_create_withdrawn(), "enqueuing");
#endif
}

// ---- the queue ----------------------------------------------------------------------------------

TEST(AcquireFsm, Alone_IsGranted) {
  Steps steps = steps_in(State::enqueuing);
  EXPECT_EQ(steps.created(5), "");
  EXPECT_EQ(steps.counted(1), "grant @a");
  EXPECT_EQ(steps.fsm().node().name(), kOwn);
  EXPECT_EQ(steps.fsm().node().token().zxid, kTokenOfCreate);
  EXPECT_EQ(steps.fsm().node().session(), kSessionA);
  EXPECT_FALSE(steps.fsm().predecessors().has_waited());
}

TEST(AcquireFsm, AmongOthers_WatchesPredictedPredecessor) {
  Steps steps = steps_in(State::enqueuing);
  steps.created(5);
  EXPECT_EQ(steps.counted(2), "watch lock-0000000004 @a");
}

TEST(AcquireFsm, WithoutAPrediction_Lists) {
  const auto after_count = [](const AcquireFsm::Policy& policy, int number, SessionId session) {
    Steps steps(policy);
    steps.start();
    steps.created_as(ZnodeName::make(policy.rule.prefix(), {number}).text);
    return steps.counted(2, true, session);
  };
  EXPECT_EQ(after_count({}, 0, kSessionA), "list @a");
  EXPECT_EQ(after_count({}, 5, kSessionB), "list @a");
  EXPECT_EQ(after_count({.wait = false}, 5, kSessionA), "list @a");
  EXPECT_EQ(after_count({.always_list = true}, 5, kSessionA), "list @a");
  for (const QueueRule& rule :
       {QueueRule::reader(), QueueRule::writer(), QueueRule::permits(1, 2, false)}) {
    EXPECT_EQ(after_count({.rule = rule}, 5, kSessionA), "list @a") << rule.prefix();
  }
}

// The reply for an unsent request comes from another thread, and can overtake that to a sent one.
TEST(AcquireFsm, CountReplyBeforeCreate_Lists) {
  Steps steps = steps_in(State::enqueuing);
  EXPECT_EQ(steps.counted(1), "");
  EXPECT_EQ(steps.created(5), "list @a") << "the count may be older than the znode";
}

TEST(AcquireFsm, PredecessorReleases_IsGrantedIfItAnnounces) {
  Steps steps = steps_in(State::listing);
  EXPECT_EQ(steps.listed({node(3), kOwn}), "watch " + node(3) + " @a");
  EXPECT_EQ(steps.watched(data_of("other")), "");
  EXPECT_TRUE(steps.fsm().waits_for_announcement());
  EXPECT_TRUE(steps.fsm().predecessors().has_waited());
  Steps next = steps;
  EXPECT_EQ(steps.predecessor_released(), "grant @a");
  // The promise of one predecessor does not apply to the next.
  EXPECT_EQ(next.predecessor_deleted(), "list @a");
  EXPECT_EQ(next.listed({node(2), kOwn}), "watch " + node(2) + " @a");
  for (const std::string& data :
       {std::string(), data_of("other", false), std::string("announces=1\n")}) {
    Steps foreign = next;
    foreign.watched(data);
    EXPECT_EQ(foreign.predecessor_released(), "list @a") << data;
  }
}

TEST(AcquireFsm, WithoutAValidLease_IsNotGranted) {
  Steps steps = steps_in(State::enqueuing);
  steps.created(5);
  EXPECT_EQ(steps.counted(1, false), "check_own @a");
  EXPECT_EQ(steps.done(Status::ok, false), "pause");
  EXPECT_EQ(steps.resume(), "check_own @a");
  EXPECT_EQ(steps.done(Status::ok, true), "grant @a");
}

TEST(AcquireFsm, LateReplyOrEvent_HasNoEffect) {
  const auto permits = [](int n) { return ZnodeName::make(permits_prefix(1, 4), {n}).text; };
  const std::string own = ZnodeName::make(permits_prefix(2, 4), {5}).text;
  Steps steps = listing_as(own, {.rule = QueueRule::permits(2, 4, false)});
  EXPECT_EQ(
      steps.listed({permits(1), permits(2), permits(3), permits(4), own}),
      "watch " + permits(4) + " @a, watch " + permits(3) + " @a, watch " + permits(2) + " @a");
  EXPECT_EQ(steps.deleted(permits(3)), "") << "of an earlier watch";
  steps.watched_as(permits(4), Status::ok);
  EXPECT_EQ(steps.watched_as(permits(1), Status::closed), "") << "of an earlier list";
  steps.watched_as(permits(3), Status::ok);
  EXPECT_EQ(steps.watched_as(permits(2), Status::ok), "");
  EXPECT_EQ(steps.deleted(permits(1)), "");
  EXPECT_EQ(steps.deleted(permits(3)), "unwatch, list @a");
  EXPECT_EQ(steps.deleted(permits(4)), "");
}

TEST(AcquireFsm, AnotherSessionEnds_HasNoEffect) {
  for (const State state : {State::waiting, State::pausing, State::delaying}) {
    EXPECT_EQ(steps_in(state).session_ended(kSessionB), "") << to_string(state);
    EXPECT_NE(steps_in(state).session_ended(kSessionA), "") << to_string(state);
  }
}

// Another znode can have its name by now.
TEST(AcquireFsm, WithdrawnAfterItsZnodeWasDeleted_RemovesNone) {
  Steps steps = steps_in(State::listing);
  EXPECT_EQ(steps.own_node_deleted(), "");
  EXPECT_EQ(steps.withdraw(), "");
  Steps marking = steps_in(State::marking);
  EXPECT_EQ(marking.own_node_deleted(), "");
  const auto marker = DelayMarker::make(std::chrono::seconds(3), {kTokenOfCreate}, {5}).name;
  EXPECT_EQ(marking.withdraw(), "remove_node " + marker + " @a");
}

// ---- failures -----------------------------------------------------------------------------------

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

TEST(AcquireFsm, ZnodeLostUnderFailPolicy_ErrorHasItsReason) {
  const AcquireFsm::Policy fails{.queue_again = false};
  EXPECT_EQ(steps_in(State::listing, fails).listed(Children{"x-" + kOwn}),
            failure(Errc::node_deleted,
                    "another client deleted the waiting znode " + kOwn + "; acquire again"));
  EXPECT_EQ(steps_in(State::waiting, fails).session_ended(),
            "unwatch, " + failure(Errc::session_expired));
}

TEST(AcquireFsm, PathDeletedRepeatedly_FailsAfterALimit) {
  Steps steps = steps_in(State::enqueuing);
  for (int i = 0; i < 20; ++i) {  // a create in between resets the limit
    ASSERT_EQ(steps.answer(Status::no_node), "create_parents") << i;
    steps.done(Status::ok);
    steps.created(5);
    steps.counted(Status::unknown);
    ASSERT_EQ(steps.listed(Status::no_node).substr(0, 6), "create");
  }
  for (int i = 0; i < 16; ++i) {
    ASSERT_EQ(steps.answer(Status::no_node), "create_parents") << i;
    steps.done(Status::ok);
  }
  EXPECT_EQ(steps.answer(Status::no_node),
            failure(Errc::server_error, "the lock path is repeatedly deleted by another client"));
}

TEST(AcquireFsm, OtherPermitCountAhead_FailsAsMismatched) {
  struct Case {
    bool is_shared;
    std::string ahead;
    std::string text;
  };
  for (const auto& [is_shared, ahead, text] :
       {Case{false, "permits-1-of-3-0000000002", "3 permits, this contender to 4 permits"},
        Case{false, "permits-1-0000000002", "the shared permit count, this contender to 4 permits"},
        Case{true, "permits-1-of-3-0000000002",
             "3 permits, this contender to the shared permit count"}}) {
    const QueueRule rule = QueueRule::permits(2, 4, is_shared);
    const std::string name = ZnodeName::make(rule.prefix(), {5}).text;
    Steps steps = listing_as(name, {.rule = rule});
    EXPECT_EQ(steps.listed({ahead, name}, {.session = kSessionA, .data = "4"}),
              "remove_node " + name + " @a, " +
                  failure(Errc::settings_mismatch,
                          "a contender ahead is set to " + text + "; use equal settings"));
  }
}

}  // namespace
}  // namespace zklock::core::acquire_test
