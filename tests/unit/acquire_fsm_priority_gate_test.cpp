// SPDX-License-Identifier: Apache-2.0
// A contender that waits at a gate, and moves from there to the queue.
#include <string>

#include <gtest/gtest.h>

#include "acquire_steps.h"
#include "zklock/core/lock_delay.h"

namespace zklock::core::acquire_test::priority_gate {
namespace {

const AcquireFsm::Policy kGated{.gate = QueueRule::weighted(5, 100)};
const AcquireFsm::Policy kOnce{.gate = QueueRule::weighted(5, 100), .wait = false};

std::string weighted(int weight, int sequence) {
  return ZnodeName::make(weight_prefix(weight, 100), {sequence}).text;
}

const std::string kOwn = weighted(5, 5);
const std::string kRemoveOwn = "remove_node " + kOwn + " @a";
const std::string kRemoveIfOwn = "remove_node " + kOwn + " if own @a";
const std::string kMovedTo = node(8);
const std::string kRemoveMoved = "remove_node " + kMovedTo + " @a";

/// Its znode exists. No reply has shown the other contenders yet.
Steps at_the_gate(const AcquireFsm::Policy& policy = kGated) {
  Steps steps(policy);
  EXPECT_EQ(steps.start(), "create id1.1");
  steps.created_as(kOwn);
  EXPECT_TRUE(steps.fsm().node().at_gate());
  return steps;
}

Steps moving(const AcquireFsm::Policy& policy = kGated) {
  Steps steps = at_the_gate(policy);
  EXPECT_EQ(steps.counted(1), "move id1.2 @a");
  EXPECT_EQ(steps.state(), State::moving);
  EXPECT_FALSE(steps.fsm().node().exists()) << "which one is not known";
  EXPECT_EQ(steps.fsm().node().name(), kOwn);
  return steps;
}

/// The reply to the move was lost, and a quorum operation has completed.
Steps recovering(const AcquireFsm::Policy& policy = kGated) {
  Steps steps = moving(policy);
  EXPECT_EQ(steps.moved(Status::unknown), "check_path @a");
  EXPECT_EQ(steps.done(Status::ok), "list @a");
  EXPECT_EQ(steps.state(), State::recovering);
  return steps;
}

TEST(AcquireGate, Alone_MovesAndIsGrantedByAList) {
  Steps steps = moving();
  EXPECT_EQ(steps.moved(8), "list @a");
  EXPECT_FALSE(steps.fsm().node().at_gate());
  EXPECT_EQ(steps.fsm().node().name(), kMovedTo);
  EXPECT_EQ(steps.listed({kMovedTo}), "grant @a");
  EXPECT_EQ(steps.fsm().node().token().zxid, kTokenOfMove);
}

TEST(AcquireGate, BehindOthers_MovesOnceFirstAtTheGate) {
  Steps steps = at_the_gate();
  EXPECT_EQ(steps.counted(3), "list @a") << "no contender can be guessed";
  EXPECT_EQ(steps.listed({kOwn, weighted(9, 6), node(4)}), "watch " + weighted(9, 6) + " @a");
  EXPECT_EQ(steps.fsm().predecessors().position(), 2U);
  EXPECT_EQ(steps.watched(data_of("other")), "");
  EXPECT_EQ(steps.predecessor_deleted(), "list @a");
  EXPECT_EQ(steps.listed({kOwn, node(7)}), "watch " + node(7) + " @a") << "that one has moved";
  EXPECT_EQ(steps.watched(data_of("other")), "");
  EXPECT_EQ(steps.predecessor_released(), "list @a") << "a release is no leave";
  EXPECT_EQ(steps.listed({kOwn, weighted(1, 3)}), "move id1.2 @a");
  EXPECT_EQ(steps.moved(8), "list @a");
  EXPECT_EQ(steps.listed({kMovedTo, weighted(1, 3), weighted(10, 9)}), "grant @a");
}

TEST(AcquireGate, Moved_QueuesBehindEarlierMoves) {
  Steps steps = moving();
  steps.moved(8);
  EXPECT_EQ(steps.listed({kMovedTo, node(7), weighted(9, 6)}), "watch " + node(7) + " @a");
  EXPECT_EQ(steps.watched(data_of("other")), "");
  EXPECT_EQ(steps.predecessor_released(), "grant @a") << "a release is a grant";
}

TEST(AcquireGate, SingleAttempt_NeverWaits) {
  Steps behind = at_the_gate(kOnce);
  behind.counted(2);
  EXPECT_EQ(behind.listed({kOwn, node(4)}), kRemoveOwn);
  EXPECT_TRUE(behind.fsm().has_ended());
  Steps late = moving(kOnce);
  late.moved(8);
  EXPECT_EQ(late.listed({kMovedTo, node(7)}), kRemoveMoved);
  EXPECT_TRUE(late.fsm().has_ended());
}

TEST(AcquireGate, LockDelay_AppliesAfterTheMove) {
  const std::string left = DelayMarker::make(std::chrono::seconds(7), {70}, {4}).name;
  AcquireFsm::Policy policy = kGated;
  policy.lock_delay = std::chrono::seconds(3);
  Steps steps = at_the_gate(policy);
  EXPECT_EQ(steps.counted(2), "list @a");
  EXPECT_EQ(steps.listed({kOwn, left}), "move id1.2 @a");
  steps.moved(8);
  EXPECT_EQ(steps.listed({kMovedTo, left}), "delay");
  EXPECT_EQ(steps.delay_over(), "clear " + left + " @a");
  EXPECT_EQ(steps.done(Status::ok), "list @a");
  const auto marker = DelayMarker::make(std::chrono::seconds(3), {kTokenOfMove}, {8}).name;
  EXPECT_EQ(steps.listed({kMovedTo}), "mark " + marker + " @a");
}

// ---- faults during the move --------------------------------------------------------------------

TEST(AcquireGate, MoveReplyLost_AdoptsTheMovedNode) {
  Steps steps = recovering();
  EXPECT_EQ(steps.listed({node(7), kMovedTo, weighted(9, 6)}), "inspect " + kMovedTo + " @a");
  EXPECT_EQ(steps.inspected(data_of("id1.2")), "list @a");
  EXPECT_EQ(steps.fsm().node().name(), kMovedTo);
  EXPECT_FALSE(steps.fsm().node().at_gate());
  EXPECT_EQ(steps.listed({kMovedTo, node(9)}), "grant @a");
  EXPECT_EQ(steps.fsm().node().token().zxid, kTokenOfInspection);
}

TEST(AcquireGate, MoveNotExecuted_StaysAtTheGate) {
  Steps steps = recovering();
  EXPECT_EQ(steps.listed({kOwn, node(7)}), "inspect " + node(7) + " @a");
  EXPECT_EQ(steps.inspected(data_of("other")), "remove_late_create id1.2 @a, list @a");
  EXPECT_TRUE(steps.fsm().node().at_gate() && steps.fsm().node().exists());
  EXPECT_EQ(steps.listed({kOwn, node(7)}), "watch " + node(7) + " @a");
  Steps alone = recovering();
  EXPECT_EQ(alone.listed({kOwn}), "remove_late_create id1.2 @a, list @a");
  EXPECT_EQ(alone.listed({kOwn}), "move id1.3 @a");
  EXPECT_EQ(alone.moved(8), "list @a");
  EXPECT_EQ(alone.listed({kMovedTo}), "grant @a");
  Steps without_path = recovering();
  EXPECT_EQ(without_path.listed(Status::no_node), "remove_late_create id1.2 @a, list @a");
  EXPECT_EQ(without_path.listed(Status::no_node), "create id1.3");
}

// The deletion of a znode has no effect if the contender's own move can have caused it.
TEST(AcquireGate, OwnNodeDeletedDuringMove_HasNoEffect) {
  Steps steps = moving();
  EXPECT_EQ(steps.own_node_deleted(), "");
  EXPECT_EQ(steps.moved(8), "list @a");
  EXPECT_EQ(steps.listed({kMovedTo}), "grant @a");
  Steps paused = moving();
  paused.moved(Status::unknown);
  EXPECT_EQ(paused.done(Status::throttled), "pause");
  EXPECT_EQ(paused.own_node_deleted(), "");
  EXPECT_EQ(paused.session_ended(), "") << "the next answer will say so";
  EXPECT_EQ(paused.resume(), "check_path @a");
}

TEST(AcquireGate, SequenceExhaustedByMove_RecreatesThePath) {
  Steps steps = moving();
  EXPECT_EQ(steps.moved(kFirstUnusableSequence.value), "list @a");
  const std::string last = node(kFirstUnusableSequence.value);
  EXPECT_EQ(steps.listed({last}), "remove_node " + last + " @a, remove_path");
  EXPECT_EQ(steps.done(Status::ok), "create id1.3");
  EXPECT_TRUE(steps.fsm().node().at_gate());
}

// ---- giving up ----------------------------------------------------------------------------------

TEST(AcquireGate, WithdrawnDuringMove_RemovesNode) {
  const auto withdrawn = [](Steps steps) {
    EXPECT_EQ(steps.withdraw(), "drop_unsent");
    EXPECT_FALSE(steps.fsm().has_ended());
    return steps;
  };
  EXPECT_EQ(withdrawn(moving()).moved(Status::not_sent), kRemoveIfOwn);
  Steps there = withdrawn(moving());
  EXPECT_EQ(there.moved(8), kRemoveMoved);
  EXPECT_TRUE(there.fsm().has_ended());
  Steps found = withdrawn(recovering());
  EXPECT_EQ(found.listed({kMovedTo}), "inspect " + kMovedTo + " @a");
  EXPECT_EQ(found.inspected(data_of("id1.2")), kRemoveMoved);
  Steps not_found = withdrawn(recovering());
  EXPECT_EQ(not_found.listed({kOwn}), "remove_late_create id1.2 @a, " + kRemoveIfOwn);
  EXPECT_TRUE(not_found.fsm().has_ended());
}

// Until a list shows that the path was not recreated, the name can be another contender's.
TEST(AcquireGate, WithdrawnAfterSearch_ReadsNodeUntilListed) {
  Steps unlisted = recovering();
  EXPECT_EQ(unlisted.listed({kOwn}), "remove_late_create id1.2 @a, list @a");
  EXPECT_EQ(unlisted.withdraw(), kRemoveIfOwn);
  Steps listed = recovering();
  listed.listed({kOwn});
  EXPECT_EQ(listed.listed({kOwn, node(7)}), "watch " + node(7) + " @a");
  EXPECT_EQ(listed.withdraw(), "unwatch, " + kRemoveOwn);
}

TEST(AcquireGate, WithdrawnInAPause_RemovesNode) {
  Steps before = moving();
  before.moved(Status::throttled);
  EXPECT_EQ(before.withdraw(), kRemoveIfOwn);
  EXPECT_TRUE(before.fsm().has_ended());
  Steps after = moving();
  after.moved(Status::unknown);
  after.done(Status::throttled);
  EXPECT_EQ(after.withdraw(), "");
  EXPECT_FALSE(after.fsm().has_ended());
}

}  // namespace
}  // namespace zklock::core::acquire_test::priority_gate
