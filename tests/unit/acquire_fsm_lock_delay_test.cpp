// SPDX-License-Identifier: Apache-2.0
// A contender with a lock delay, and contenders that find the delay marker of a lost holder.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "acquire_steps.h"
#include "zklock/core/lock_delay.h"

namespace zklock::core::acquire_test::lock_delay {
namespace {

using namespace std::chrono_literals;

AcquireFsm::Policy with_delay(QueueRule rule = QueueRule::mutex()) {
  return {.rule = std::move(rule), .lock_delay = 3s};
}
/// A single attempt, without a delay of its own.
const AcquireFsm::Policy kOnce{.wait = false};

const std::string kOwn = node(5);
const std::string kOwnMarker = DelayMarker::make(3s, {kTokenOfCreate}, {5}).name;
const std::string kMarkOwn = "mark " + kOwnMarker + " @a";
const std::string kUnmarkOwn = "remove_node " + kOwnMarker + " @a";
const std::string kRemoveOwn = "remove_node " + kOwn + " @a";
const std::string kRemoveBoth = "remove_node " + kOwn + " and " + kOwnMarker + " @a";
const std::string kLeft = DelayMarker::make(7s, {70}, {4}).name;
const std::string kLeftEarlier = DelayMarker::make(9s, {60}, {3}).name;

/// The contender is alone, by the first count.
Steps marking(AcquireFsm::Policy policy = with_delay()) {
  Steps steps(std::move(policy));
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.counted(1), kMarkOwn);
  EXPECT_EQ(steps.state(), State::marking);
  return steps;
}

/// The contender is first, behind the marker of a lost holder.
Steps delaying(AcquireFsm::Policy policy = {}, const Children& lost = {kLeft}) {
  Steps steps(std::move(policy));
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.counted(Status::unknown), "list @a");
  Children children = lost;
  children.push_back(kOwn);
  EXPECT_EQ(steps.listed(children), "delay");
  EXPECT_EQ(steps.fsm().delay_markers().orphans.size(), lost.size());
  EXPECT_EQ(steps.state(), State::delaying);
  return steps;
}

Steps clearing(AcquireFsm::Policy policy = {}) {
  Steps steps = delaying(std::move(policy));
  EXPECT_EQ(steps.delay_over(), "clear " + kLeft + " @a");
  EXPECT_EQ(steps.state(), State::clearing);
  return steps;
}

// ---- leaving a marker --------------------------------------------------------------------------

TEST(AcquireDelay, NoLockDelay_NoMarker) {
  Steps steps;
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.counted(1), "grant @a");
  EXPECT_FALSE(steps.fsm().delay_markers().has_own());
  EXPECT_EQ(steps.unmark(), "");
}

TEST(AcquireDelay, ShortestLockDelay_Marks) {
  Steps steps({.lock_delay = 1ms});
  steps.start();
  steps.created(5);
  const std::string marker = DelayMarker::make(1ms, {kTokenOfCreate}, {5}).name;
  EXPECT_EQ(steps.counted(1), "mark " + marker + " @a");
}

TEST(AcquireDelay, LockDelay_MarksBeforeEveryKindOfGrant) {
  EXPECT_EQ(marking().marked(Status::ok), "grant @a");
  Steps listed(with_delay());
  listed.start();
  listed.created(5);
  listed.counted(Status::unknown);
  EXPECT_EQ(listed.listed({kOwn, node(6)}), kMarkOwn);
  Steps released(with_delay());
  released.start();
  released.created(5);
  released.counted(2);
  EXPECT_EQ(released.watched(data_of("other")), "");
  EXPECT_EQ(released.predecessor_released(), kMarkOwn);
  Steps confirmed(with_delay());
  confirmed.start();
  confirmed.created(5);
  EXPECT_EQ(confirmed.counted(1, false), "check_own @a")
      << "without a valid lease, the contender's znode is checked first";
  EXPECT_EQ(confirmed.checked(Status::ok), kMarkOwn);
  EXPECT_EQ(confirmed.marked(Status::ok), "grant @a");
}

TEST(AcquireDelay, AdoptedNode_MarkerHasItsToken) {
  Steps steps(with_delay());
  steps.start();
  steps.answer(Status::unknown);
  steps.checked(Status::ok);
  steps.listed({kOwn});
  steps.inspected(data_of("id1.1"));
  EXPECT_EQ(steps.listed({kOwn}),
            "mark " + DelayMarker::make(3s, {kTokenOfInspection}, {5}).name + " @a");
}

TEST(AcquireDelay, SharedAccess_OnlyWritersMark) {
  const auto first_answer = [](const QueueRule& rule) {
    Steps steps(with_delay(rule));
    steps.start();
    steps.created_as(ZnodeName::make(rule.prefix(), {5}).text);
    return steps.counted(1);
  };
  EXPECT_EQ(first_answer(QueueRule::writer()), kMarkOwn);
  EXPECT_EQ(first_answer(QueueRule::reader()), "grant @a");
  EXPECT_EQ(first_answer(QueueRule::permits(1, 2, false)), "grant @a");
}

TEST(AcquireDelay, MarkerExistsAlready_IsGranted) {
  Steps steps = marking();
  EXPECT_EQ(steps.marked(Status::unknown), kMarkOwn);
  EXPECT_EQ(steps.marked(Status::throttled), "pause");
  EXPECT_EQ(steps.resume(), kMarkOwn);
  EXPECT_EQ(steps.marked(Status::node_exists), "grant @a");
  EXPECT_TRUE(steps.fsm().delay_markers().has_own());
}

TEST(AcquireDelay, LeaseLapsedWhileMarking_IsConfirmed) {
  Steps steps = marking();
  EXPECT_EQ(steps.marked(Status::ok, false), "check_own @a");
  EXPECT_EQ(steps.checked(Status::ok, false), "pause");
  EXPECT_EQ(steps.resume(), "check_own @a");
  EXPECT_EQ(steps.checked(Status::ok), "grant @a") << "it is marked once";
}

TEST(AcquireDelay, NextNode_IsMarkedAgain) {
  Steps steps = marking();
  steps.marked(Status::ok, false);
  EXPECT_EQ(steps.checked(Status::no_node), kUnmarkOwn + ", create id1.2");
  steps.created(6);
  EXPECT_EQ(steps.counted(1), "mark " + DelayMarker::make(3s, {kTokenOfCreate}, {6}).name + " @a");
}

TEST(AcquireDelay, Released_RemovesItsMarkerOnce) {
  Steps steps = marking();
  steps.marked(Status::ok);
  EXPECT_EQ(steps.unmark(), kOwnMarker);
  EXPECT_FALSE(steps.fsm().delay_markers().has_own());
  EXPECT_EQ(steps.unmark(), "");
}

TEST(AcquireDelay, Withdrawn_RemovesNodeAndMarker) {
  EXPECT_EQ(marking().withdraw(), kRemoveBoth);
  Steps steps = marking();
  steps.marked(Status::ok, false);
  EXPECT_EQ(steps.withdraw(), kRemoveBoth);
  EXPECT_EQ(steps.checked(Status::ok), "");
  Steps pausing = marking();
  pausing.marked(Status::throttled);
  EXPECT_EQ(pausing.withdraw(), kRemoveBoth);
}

TEST(AcquireDelay, MarkingFails_FailsAndRemovesBoth) {
  EXPECT_EQ(marking().marked(Status::no_auth, true, "why"),
            kRemoveBoth + ", " + failure(Errc::no_auth, "why"));
  EXPECT_EQ(marking().marked(Status::quota_exceeded),
            kRemoveBoth + ", " + failure(Errc::quota_exceeded));
}

TEST(AcquireDelay, NodeLostWhileMarking_IsNotGranted) {
  EXPECT_EQ(marking().marked(Status::no_node), kUnmarkOwn + ", create id1.2");
  Steps deleted = marking();
  EXPECT_EQ(deleted.own_node_deleted(), "");
  EXPECT_EQ(deleted.marked(Status::ok), kUnmarkOwn + ", create id1.2");
  EXPECT_EQ(deleted.created(6), "");
  EXPECT_EQ(deleted.counted(1),
            "mark " + DelayMarker::make(3s, {kTokenOfCreate}, {6}).name + " @a");
  EXPECT_EQ(marking().marked(Status::session_ended), "create id1.2")
      << "on that session nothing can be taken away";
  AcquireFsm::Policy fails = with_delay();
  fails.queue_again = false;
  EXPECT_EQ(marking(fails).marked(Status::no_node), kUnmarkOwn + ", " + node_deleted(kOwn));
}

// ---- finding a marker --------------------------------------------------------------------------

TEST(AcquireDelay, FirstBehindMarker_WaitsForTheDelay) {
  struct Wish {
    QueueRule rule;
    std::string name;
  };
  for (const auto& [rule, name] :
       {Wish{QueueRule::mutex(), kOwn}, Wish{QueueRule::writer(), "__WRIT__0000000005"},
        Wish{QueueRule::reader(), "__READ__0000000005"},
        Wish{QueueRule::permits(1, 2, false), "permits-1-of-2-0000000005"}}) {
    Steps steps({.rule = rule});
    steps.start();
    steps.created_as(name);
    steps.counted(Status::unknown);
    EXPECT_EQ(steps.listed({kLeft, name}), "delay") << name;
    EXPECT_EQ(steps.delay_over(), "clear " + kLeft + " @a");
    EXPECT_EQ(steps.cleared(Status::ok), "list @a");
    EXPECT_EQ(steps.listed({name}), "grant @a");
  }
}

TEST(AcquireDelay, MarkerAmongChildren_IsCounted) {
  Steps steps;
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.counted(2), "watch " + node(4) + " @a") << "the marker is counted";
  EXPECT_EQ(steps.watched(Status::no_node), "list @a");
  EXPECT_EQ(steps.listed({kLeft, kOwn}), "delay");
}

TEST(AcquireDelay, MarkerOfPresentContender_DoesNotDelay) {
  Steps behind;
  behind.start();
  behind.created(5);
  behind.counted(Status::unknown);
  EXPECT_EQ(behind.listed({kLeft, node(4), kOwn}), "watch " + node(4) + " @a");
  EXPECT_EQ(behind.watched(data_of("other")), "");
  EXPECT_EQ(behind.predecessor_deleted(), "list @a");
  EXPECT_EQ(behind.listed({kLeft, kOwn}), "delay") << "it was lost";
  Steps mine(with_delay());
  mine.start();
  mine.created(5);
  mine.counted(Status::unknown);
  EXPECT_EQ(mine.listed({kOwnMarker, kOwn}), kMarkOwn);
}

TEST(AcquireDelay, AnnouncedRelease_IsGrantedWithoutDelay) {
  Steps steps;
  steps.start();
  steps.created(5);
  steps.counted(3);
  steps.watched(data_of("other"));
  EXPECT_EQ(steps.predecessor_released(), "grant @a");
}

TEST(AcquireDelay, SeveralMarkers_AreAllAwaitedAndRemoved) {
  for (const Children& lost : {Children{kLeft, kLeftEarlier}, Children{kLeftEarlier, kLeft}}) {
    Steps steps = delaying({}, lost);
    EXPECT_EQ(steps.delay_over(), "clear " + lost[1] + " @a");
    EXPECT_EQ(steps.cleared(Status::no_node), "clear " + lost[0] + " @a");
    EXPECT_EQ(steps.cleared(Status::ok), "list @a");
    EXPECT_EQ(steps.listed({kOwn}), "grant @a");
  }
}

TEST(AcquireDelay, MarkerLeftDuringClearing_DelaysAgain) {
  Steps steps = clearing();
  steps.cleared(Status::ok);
  EXPECT_EQ(steps.listed({kLeftEarlier, kOwn}), "delay");
  EXPECT_EQ(steps.delay_over(), "clear " + kLeftEarlier + " @a");
}

TEST(AcquireDelay, SingleAttempt_DoesNotWaitForTheDelay) {
  Steps steps(kOnce);
  steps.start();
  steps.created(5);
  EXPECT_EQ(steps.counted(2), "list @a");
  EXPECT_EQ(steps.listed({kLeft, kOwn}), "delay");
  EXPECT_EQ(steps.withdraw(), kRemoveOwn);
  EXPECT_TRUE(steps.fsm().has_ended());
  EXPECT_EQ(steps.delay_over(), "");
  Steps late(kOnce);
  late.start();
  late.created(5);
  late.counted(2);
  late.listed({kLeft, kOwn});
  EXPECT_EQ(late.delay_over(), "clear " + kLeft + " @a") << "it has been known for long enough";
}

TEST(AcquireDelay, LossOrWithdrawalWhileDelaying_EndsTheDelay) {
  EXPECT_EQ(delaying().withdraw(), kRemoveOwn);
  EXPECT_EQ(delaying().session_ended(kSessionB), "");
  EXPECT_EQ(delaying().session_ended(), "create id1.2");
  EXPECT_EQ(delaying().own_node_deleted(), "create id1.2");
  Steps withdrawn = delaying();
  withdrawn.withdraw();
  EXPECT_EQ(withdrawn.delay_over(), "");
  Steps anew = delaying();
  anew.session_ended();
  EXPECT_EQ(anew.delay_over(), "") << "of the node that it has no more";
  EXPECT_EQ(delaying().resume(), "");
  EXPECT_EQ(delaying().deleted(node(4)), "");
}

TEST(AcquireDelay, ClearingFails_RepeatsQueuesAgainOrFails) {
  Steps steps = clearing();
  EXPECT_EQ(steps.cleared(Status::unknown), "clear " + kLeft + " @a");
  EXPECT_EQ(steps.cleared(Status::throttled), "pause");
  EXPECT_EQ(steps.resume(), "clear " + kLeft + " @a");
  EXPECT_EQ(steps.cleared(Status::no_node), "list @a");
  EXPECT_EQ(clearing().cleared(Status::session_ended), "create id1.2");
  EXPECT_EQ(clearing().cleared(Status::no_auth, "why"),
            kRemoveOwn + ", " + failure(Errc::no_auth, "why"));
  Steps deleted = clearing();
  EXPECT_EQ(deleted.own_node_deleted(), "");
  EXPECT_EQ(deleted.cleared(Status::ok), "create id1.2");
  EXPECT_EQ(clearing().withdraw(), kRemoveOwn);
}

TEST(AcquireDelay, ClearedWithLockDelay_MarksBeforeGrant) {
  Steps steps = clearing(with_delay());
  EXPECT_FALSE(steps.fsm().delay_markers().has_own());
  EXPECT_EQ(steps.cleared(Status::ok), "list @a");
  EXPECT_EQ(steps.listed({kOwn}), kMarkOwn);
}

TEST(AcquireDelay, ReplyInWrongState_HasNoEffect) {
  for (const State state : kAllStates) {
    Steps steps = steps_in(state);
    const State before = steps.state();
    if (state != State::delaying) {
      EXPECT_EQ(steps.delay_over(), "") << to_string(state);
    }
    if (!awaits_done(state)) {
      EXPECT_EQ(steps.cleared(Status::ok), "") << to_string(state);
    }
    EXPECT_EQ(steps.state(), before);
  }
}

}  // namespace
}  // namespace zklock::core::acquire_test::lock_delay
