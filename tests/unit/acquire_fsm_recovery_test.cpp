// SPDX-License-Identifier: Apache-2.0
// Faults during an acquire: lost replies, deleted parents and znodes, ended sessions, and callers
// that stop waiting.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "acquire_steps.h"

namespace zklock::core::acquire_test::recovery {
namespace {

const std::string kOwn = node(5);
const std::string kRemoveOwn = "remove_node lock-0000000005 @a";

// ---- the lost reply to a create -----------------------------------------------------------------

TEST(AcquireRecovery, CreateReplyLost_ProvesQuorumThenListsThenReads) {
  Steps steps = steps_in(State::enqueuing);
  EXPECT_EQ(steps.answer(Status::unknown), "check_path @a");
  EXPECT_EQ(steps.state(), State::proving);
  EXPECT_EQ(steps.done(Status::ok, false), "list @a");
  EXPECT_EQ(steps.state(), State::recovering);
  EXPECT_EQ(steps.listed({node(4), kOwn}), "inspect lock-0000000005 @a");
  EXPECT_EQ(steps.state(), State::inspecting);
  EXPECT_EQ(steps.inspected(data_of("id1.1")), "list @a");
  EXPECT_EQ(steps.state(), State::listing);
  EXPECT_EQ(steps.fsm().node().name(), kOwn);
  EXPECT_EQ(steps.fsm().node().token().zxid, kTokenOfInspection);
  EXPECT_EQ(steps.fsm().node().session(), kSessionA);
  EXPECT_EQ(steps.listed({node(4), kOwn}), "watch lock-0000000004 @a");
}

TEST(AcquireRecovery, SeveralCandidates_NewestIsInspectedFirst) {
  Steps steps = steps_in(State::recovering);
  EXPECT_EQ(steps.listed({node(12), node(3), node(100), node(20)}), "inspect " + node(100) + " @a");
  EXPECT_EQ(steps.inspected(data_of("other.1")), "inspect " + node(20) + " @a");
  EXPECT_EQ(steps.inspected(Status::no_node), "inspect " + node(12) + " @a");
  EXPECT_EQ(steps.inspected(Status::no_auth), "inspect " + node(3) + " @a");
  EXPECT_EQ(steps.inspected(data_of("other.2")), "remove_late_create id1.1 @a, create id1.2");
}

TEST(AcquireRecovery, ForeignNames_AreNotInspected) {
  Steps steps = steps_in(State::recovering);
  EXPECT_EQ(
      steps.listed({"_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-0000000009",
                    "8a7d6c1e0f3b4a2f9d553f2a2b1c0d9e__lock__0000000008", "config", "lock-7"}),
      "remove_late_create id1.1 @a, create id1.2");
  EXPECT_EQ(steps.state(), State::enqueuing);
}

TEST(AcquireRecovery, NodeOfAnotherAttempt_IsNotAdopted) {
  for (const std::string& data :
       {data_of("id1.2"), data_of("id1.0"), data_of("id1.11"), data_of("id2.1"), data_of("id11.1"),
        data_of("id1"), data_of("id"), data_of(""), std::string(), std::string("id1.1"),
        std::string("attempt=id1.1\n"), std::string(kReleasedData),
        std::string("zklock 2\nattempt=id1.1\n")}) {
    Steps steps = steps_in(State::inspecting);
    EXPECT_EQ(steps.inspected(data), "inspect lock-0000000004 @a") << data;
    EXPECT_FALSE(steps.fsm().node().exists());
  }
}

TEST(AcquireRecovery, NodeOfAnotherSession_IsNotAdopted) {
  for (const SessionId owner : {kSessionB, SessionId{}, SessionId{-1}}) {
    Steps steps = steps_in(State::inspecting);
    EXPECT_EQ(steps.inspected(data_of("id1.1"), owner), "inspect lock-0000000004 @a");
    EXPECT_EQ(steps.inspected(data_of("id1.1"), owner),
              "remove_late_create id1.1 @a, create id1.2");
  }
}

TEST(AcquireRecovery, NextCreate_HasAnotherAttemptId) {
  Steps steps = steps_in(State::inspecting);
  steps.inspected(data_of("other"));
  EXPECT_EQ(steps.inspected(data_of("other")), "remove_late_create id1.1 @a, create id1.2");
  EXPECT_EQ(steps.answer(Status::unknown), "check_path @a");
  EXPECT_EQ(steps.done(Status::ok), "list @a");
  EXPECT_EQ(steps.listed({node(5), node(6)}), "inspect lock-0000000006 @a");
  EXPECT_EQ(steps.inspected(data_of("id1.1")), "inspect lock-0000000005 @a");
  EXPECT_EQ(steps.inspected(data_of("id1.2")), "list @a");
}

TEST(AcquireRecovery, CreatedOnAnotherSession_RecoversOnThatSession) {
  Steps steps = steps_in(State::enqueuing);
  steps.created(Status::unknown, kSessionB);
  EXPECT_EQ(steps.counted(Status::ok), "check_path @b");
  EXPECT_EQ(steps.done(Status::ok), "list @b");
  EXPECT_EQ(steps.listed({kOwn}), "inspect lock-0000000005 @b");
  EXPECT_EQ(steps.inspected(data_of("id1.1"), kSessionB), "list @b");
  EXPECT_EQ(steps.fsm().node().session(), kSessionB);
}

// ---- parents that are created and deleted ------------------------------------------------------

TEST(AcquireParents, ParentsDeletedRepeatedly_FailsAfterALimit) {
  Steps steps = steps_in(State::enqueuing);
  int made = 0;
  std::string effects = steps.answer(Status::no_node);
  while (effects == "create_parents" && made < 1000) {
    ++made;
    steps.done(Status::ok);
    effects = steps.answer(Status::no_node);
  }
  EXPECT_EQ(made, 16);
  EXPECT_EQ(effects,
            failure(Errc::server_error, "the lock path is repeatedly deleted by another client"));
  EXPECT_TRUE(steps.fsm().has_ended());
}

TEST(AcquireParents, CreateBetweenFailures_ResetsTheLimit) {
  Steps steps = steps_in(State::enqueuing);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(steps.answer(Status::no_node), "create_parents") << i;
    steps.done(Status::ok);
    steps.created(5);
    steps.counted(Status::unknown);
    ASSERT_EQ(steps.listed(Status::no_node).substr(0, 6), "create");
  }
}

// ---- its own znode deleted by another program --------------------------------------------------

TEST(AcquireOwnNode, DeletedWithoutANode_HasNoEffect) {
  for (const State state : {State::idle, State::enqueuing, State::making_parents, State::proving,
                            State::recovering, State::inspecting, State::removing_path}) {
    Steps steps = steps_in(state);
    EXPECT_EQ(steps.own_node_deleted(), "") << to_string(state);
    EXPECT_EQ(steps.state(), state);
  }
  // The deletion also has no effect on the next znode.
  Steps steps = steps_in(State::waiting);
  steps.own_node_deleted();
  steps.created(8);
  EXPECT_EQ(steps.counted(1), "grant @a");
}

// ---- the session's end --------------------------------------------------------------------------

TEST(AcquireSession, AnotherSessionEnds_HasNoEffect) {
  for (const State state : kAllStates) {
    Steps steps = steps_in(state);
    EXPECT_EQ(steps.session_ended(kSessionB), "") << to_string(state);
    EXPECT_EQ(steps.state(), state);
  }
}

TEST(AcquireSession, NextNode_BelongsToTheNextSession) {
  Steps steps = steps_in(State::waiting);
  steps.session_ended();
  steps.created(9, kSessionB);
  EXPECT_EQ(steps.counted(1, true, kSessionB), "grant @b");
  EXPECT_EQ(steps.fsm().node().name(), node(9));
}

// The reply for an unsent request comes from another thread, and can overtake that to a sent one.
TEST(AcquireOrder, CountReplyFirst_AwaitsTheCreateReply) {
  Steps steps = steps_in(State::enqueuing);
  EXPECT_EQ(steps.counted(Status::not_sent), "");
  EXPECT_EQ(steps.created(5), "list @a");
  EXPECT_TRUE(steps.fsm().node().exists());

  Steps failing = steps_in(State::enqueuing);
  EXPECT_EQ(failing.counted(Status::ok), "");
  EXPECT_EQ(failing.created(Status::too_many_nodes), failure(Errc::too_many_nodes));

  Steps leaving = steps_in(State::enqueuing);
  leaving.withdraw();
  EXPECT_EQ(leaving.counted(Status::not_sent), "");
  EXPECT_EQ(leaving.created(5), "remove_node lock-0000000005 @a");
  EXPECT_TRUE(leaving.fsm().has_ended());
}

TEST(AcquireOrder, CountReplyBeforeCreate_Lists) {
  Steps steps = steps_in(State::enqueuing);
  EXPECT_EQ(steps.counted(1), "");
  EXPECT_EQ(steps.created(5), "list @a") << "it may be of before the node";
}

// The caller gets the failure immediately. The search continues until the znode's fate is known.
TEST(AcquireRecovery, RecoveryFails_ReportsOnceAndContinuesTheSearch) {
  Steps steps = steps_in(State::recovering);
  EXPECT_EQ(steps.answer(Status::no_auth), failure(Errc::no_auth) + ", pause");
  EXPECT_EQ(steps.resume(), "list @a");
  EXPECT_EQ(steps.answer(Status::server_error), "pause") << "reported once";
  EXPECT_EQ(steps.withdraw(), "");
  EXPECT_EQ(steps.resume(), "list @a");
  EXPECT_EQ(steps.listed({node(5)}), "inspect lock-0000000005 @a");
  EXPECT_EQ(steps.inspected(data_of("id1.1")), "remove_node lock-0000000005 @a");
  EXPECT_TRUE(steps.fsm().has_ended());
}

// ---- callers that stop waiting ------------------------------------------------------------------

TEST(AcquireWithdrawal, CreateReplyLost_FindsAndRemovesNode) {
  Steps steps = steps_in(State::enqueuing);
  steps.withdraw();
  EXPECT_EQ(steps.answer(Status::unknown), "check_path @a");
  EXPECT_EQ(steps.done(Status::unknown), "check_path @a");
  EXPECT_EQ(steps.done(Status::ok), "list @a");
  EXPECT_EQ(steps.listed({kOwn, node(4)}), "inspect lock-0000000005 @a");
  EXPECT_EQ(steps.inspected(data_of("other")), "inspect lock-0000000004 @a");
  EXPECT_EQ(steps.inspected(data_of("id1.1")), "remove_node lock-0000000004 @a");
  EXPECT_TRUE(steps.fsm().has_ended());
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

// ---- a single attempt ---------------------------------------------------------------------------

const AcquireFsm::Policy kSingle{.wait = false};

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
}  // namespace zklock::core::acquire_test::recovery
