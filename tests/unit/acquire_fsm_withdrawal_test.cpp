// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "acquire_steps.h"

// Callers that stop waiting, and single attempts: they get no grant and leave no znode.
namespace zklock::core::acquire_test::withdrawal {
namespace {

const std::string kOwn = node(5);
const std::string kRemoveOwn = "remove_node lock-0000000005 @a";

TEST(AcquireWithdrawal, WithdrawnInEveryState_HasItsEffect) {
  for (const State state : kAllStates) {
    Steps steps = steps_in(state);
    std::string wanted;
    bool at_once = true;
    switch (state) {
      case State::idle:
      case State::ended: break;
      case State::granted: at_once = false; break;  // too late: the grant must be released
      case State::enqueuing:
      case State::making_parents:
      case State::removing_path:
      case State::draining:
      case State::proving:
      case State::recovering:
      case State::inspecting:
        wanted = "drop_unsent";
        at_once = false;
        break;
      case State::listing:
      case State::creating_count:
      case State::moving:
      case State::confirming:
      case State::delaying:
      case State::clearing:
      case State::pausing: wanted = kRemoveOwn; break;
      case State::marking:
        wanted = "remove_node lock-0000000005 and delay-3000-77-0000000005 @a";
        break;
      case State::arming:
      case State::waiting: wanted = "unwatch, " + kRemoveOwn; break;
    }
    EXPECT_EQ(steps.withdraw(), wanted) << to_string(state);
    EXPECT_EQ(steps.fsm().has_ended(), at_once) << to_string(state);
    if (at_once) {
      EXPECT_FALSE(steps.fsm().node().exists()) << to_string(state);
    }
  }
}

TEST(AcquireWithdrawal, WithdrawnTwice_HasNoFurtherEffect) {
  for (const State state : {State::waiting, State::listing, State::confirming, State::idle}) {
    Steps steps = steps_in(state);
    steps.withdraw();
    EXPECT_EQ(steps.withdraw(), "") << to_string(state);
  }
  Steps idle = steps_in(State::idle);
  idle.withdraw();
  EXPECT_EQ(idle.start(), "") << "it has ended";
}

TEST(AcquireWithdrawal, WithdrawnWhileEnqueuing_RemovesNodeOnceKnown) {
  for (const bool between : {false, true}) {
    for (const Status count : {Status::ok, Status::not_sent, Status::unknown, Status::no_node}) {
      Steps steps = steps_in(State::enqueuing);
      if (!between) steps.withdraw();
      steps.created(5);
      if (between) {
        EXPECT_EQ(steps.withdraw(), "drop_unsent");
      }
      EXPECT_EQ(count == Status::ok ? steps.counted(1) : steps.counted(count), kRemoveOwn);
      EXPECT_TRUE(steps.fsm().has_ended());
    }
  }
}

TEST(AcquireWithdrawal, CreateNotSent_EndsWithoutRemoval) {
  Steps steps = steps_in(State::enqueuing);
  steps.withdraw();
  steps.created(Status::not_sent);
  EXPECT_EQ(steps.counted(Status::not_sent), "");
  EXPECT_TRUE(steps.fsm().has_ended());
}

TEST(AcquireWithdrawal, CreateFailsAfterWithdrawal_EndsWithoutAnError) {
  for (const Status status : kAllStatuses) {
    if (status == Status::ok || status == Status::unknown) continue;
    Steps steps = steps_in(State::enqueuing);
    steps.withdraw();
    EXPECT_EQ(steps.answer(status), "") << core::to_string(status);
    EXPECT_TRUE(steps.fsm().has_ended()) << core::to_string(status);
  }
}

TEST(AcquireWithdrawal, CreateReplyLost_FindsAndRemovesNode) {
  Steps steps = steps_in(State::enqueuing);
  steps.withdraw();
  EXPECT_EQ(steps.answer(Status::unknown), "check_path @a");
  EXPECT_EQ(steps.checked(Status::unknown), "check_path @a");
  EXPECT_EQ(steps.checked(Status::ok), "list @a");
  EXPECT_EQ(steps.listed({kOwn, node(4)}), "inspect lock-0000000005 @a");
  EXPECT_EQ(steps.inspected(data_of("other")), "inspect lock-0000000004 @a");
  EXPECT_EQ(steps.inspected(data_of("id1.1")), "remove_node lock-0000000004 @a");
  EXPECT_TRUE(steps.fsm().has_ended());
}

TEST(AcquireWithdrawal, LostCreateNotExecuted_EndsAsNotCreated) {
  Steps without_parent = steps_in(State::recovering);
  without_parent.withdraw();
  EXPECT_EQ(without_parent.listed(Status::no_node), "remove_late_create id1.1 @a");
  EXPECT_TRUE(without_parent.fsm().has_ended());

  Steps without_candidates = steps_in(State::recovering);
  without_candidates.withdraw();
  EXPECT_EQ(without_candidates.listed(Children{}), "remove_late_create id1.1 @a");
  EXPECT_TRUE(without_candidates.fsm().has_ended());

  Steps not_ours = steps_in(State::inspecting);
  not_ours.withdraw();
  EXPECT_EQ(not_ours.inspected(Status::no_node), "inspect lock-0000000004 @a");
  EXPECT_EQ(not_ours.inspected(data_of("other")), "remove_late_create id1.1 @a");
  EXPECT_TRUE(not_ours.fsm().has_ended());
}

TEST(AcquireWithdrawal, SessionEndedInRecovery_Ends) {
  for (const State state : {State::proving, State::recovering, State::inspecting}) {
    Steps steps = steps_in(state);
    steps.withdraw();
    EXPECT_EQ(steps.answer(Status::session_ended), "") << to_string(state);
    EXPECT_TRUE(steps.fsm().has_ended()) << to_string(state);
  }
}

// A znode can exist that has not been found yet. So the search continues after the pause.
TEST(AcquireWithdrawal, PausedWithUnknownNode_ContinuesTheSearch) {
  for (const State state : {State::proving, State::recovering, State::inspecting}) {
    Steps steps = steps_in(state);
    steps.answer(Status::throttled);
    EXPECT_EQ(steps.withdraw(), "") << to_string(state);
    EXPECT_FALSE(steps.fsm().has_ended()) << to_string(state);
    EXPECT_NE(steps.resume(), "") << to_string(state);
    EXPECT_EQ(steps.state(), state);
  }
  Steps enqueuing = steps_in(State::enqueuing);
  enqueuing.answer(Status::throttled);
  EXPECT_EQ(enqueuing.withdraw(), "");
  EXPECT_TRUE(enqueuing.fsm().has_ended()) << "a throttled create was not carried out";
}

TEST(AcquireWithdrawal, WithdrawnWithoutANode_NextReplyEnds) {
  for (const State state : {State::making_parents, State::removing_path, State::draining}) {
    for (const Status status : {Status::ok, Status::no_node, Status::not_empty, Status::no_auth,
                                Status::session_ended, Status::unknown, Status::throttled}) {
      Steps steps = steps_in(state);
      EXPECT_EQ(steps.withdraw(), "drop_unsent");
      EXPECT_EQ(steps.answer(status), "") << to_string(state) << ", " << core::to_string(status);
      EXPECT_TRUE(steps.fsm().has_ended());
    }
  }
}

// ---- a single attempt ---------------------------------------------------------------------------

const AcquireFsm::Policy kSingle{.wait = false};

TEST(AcquireTry, Alone_IsGranted) {
  Steps steps = steps_in(State::enqueuing, kSingle);
  steps.created(5);
  EXPECT_EQ(steps.counted(1), "grant @a");
}

TEST(AcquireTry, AmongOthers_ListsAndNeverWatches) {
  Steps behind = steps_in(State::enqueuing, kSingle);
  behind.created(5);
  EXPECT_EQ(behind.counted(2), "list @a");
  EXPECT_EQ(behind.listed({node(4), kOwn}), kRemoveOwn);
  EXPECT_TRUE(behind.fsm().has_ended()) << "without an error";

  Steps first = steps_in(State::enqueuing, kSingle);
  first.created(5);
  first.counted(2);
  EXPECT_EQ(first.listed({kOwn, node(6)}), "grant @a");
}

TEST(AcquireTry, NotInTheList_CreatesAgain) {
  Steps steps = steps_in(State::listing, kSingle);
  EXPECT_EQ(steps.listed({node(6)}), "create id1.2");
}

TEST(AcquireTry, AdoptedNodeBehindOthers_IsRemoved) {
  Steps steps = steps_in(State::inspecting, kSingle);
  EXPECT_EQ(steps.inspected(data_of("id1.1")), "list @a");
  EXPECT_EQ(steps.listed({node(1), kOwn}), kRemoveOwn);
  EXPECT_TRUE(steps.fsm().has_ended());
}

TEST(AcquireWithdrawal, RequestNeverSubmitted_EndsAtOnce) {
  Steps steps = steps_in(State::enqueuing);
  EXPECT_EQ(steps.withdraw(), "drop_unsent");
  steps.withdrawn();
  EXPECT_EQ(steps.state(), State::ended);
}

// Another znode can have its name by now.
TEST(AcquireWithdrawal, NodeKnownDeleted_IsNotRemoved) {
  Steps steps = steps_in(State::listing);
  EXPECT_EQ(steps.own_node_deleted(), "");
  EXPECT_EQ(steps.withdraw(), "");
  EXPECT_EQ(steps.state(), State::ended);

  Steps marking = steps_in(State::marking);
  EXPECT_EQ(marking.own_node_deleted(), "");
  const auto marker = DelayMarker::make(std::chrono::seconds(3), {kTokenOfCreate}, {5}).name;
  EXPECT_EQ(marking.withdraw(), "remove_node " + marker + " @a");
}

}  // namespace
}  // namespace zklock::core::acquire_test::withdrawal
