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

const std::string kOwn = node(5);
const std::string kOwnMarker = DelayMarker::make(3s, {kTokenOfCreate}, {5}).name;
const std::string kMarkOwn = "mark " + kOwnMarker + " @a";
const std::string kUnmarkOwn = "remove_node " + kOwnMarker + " @a";
const std::string kRemoveOwn = "remove_node " + kOwn + " @a";
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

// ---- leaving a marker --------------------------------------------------------------------------

TEST(AcquireDelay, ShortestLockDelay_Marks) {
  const std::string marker = DelayMarker::make(1ms, {kTokenOfCreate}, {5}).name;
  EXPECT_EQ(listing_as(kOwn, {.lock_delay = 1ms}).listed({kOwn}), "mark " + marker + " @a");
}

TEST(AcquireDelay, LockDelay_MarksBeforeEveryKindOfGrant) {
  EXPECT_EQ(marking().done(Status::ok), "grant @a");
  EXPECT_EQ(listing_as(kOwn, with_delay()).listed({kOwn, node(6)}), kMarkOwn);
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
  EXPECT_EQ(confirmed.done(Status::ok), kMarkOwn);
  EXPECT_EQ(confirmed.done(Status::ok), "grant @a");
}

TEST(AcquireDelay, AdoptedNode_MarkerHasItsToken) {
  Steps steps(with_delay());
  steps.start();
  steps.answer(Status::unknown);
  steps.done(Status::ok);
  steps.listed({kOwn});
  steps.inspected(data_of("id1.1"));
  EXPECT_EQ(steps.listed({kOwn}),
            "mark " + DelayMarker::make(3s, {kTokenOfInspection}, {5}).name + " @a");
}

TEST(AcquireDelay, SharedAccess_OnlyWritersMark) {
  const auto first_answer = [](const QueueRule& rule) {
    const std::string own = ZnodeName::make(rule.prefix(), {5}).text;
    return listing_as(own, with_delay(rule)).listed({own});
  };
  EXPECT_EQ(first_answer(QueueRule::writer()), kMarkOwn);
  EXPECT_EQ(first_answer(QueueRule::reader()), "grant @a");
  EXPECT_EQ(first_answer(QueueRule::permits(1, 2, false)), "grant @a");
}

TEST(AcquireDelay, Released_RemovesItsMarkerOnce) {
  Steps steps = marking();
  steps.done(Status::ok);
  EXPECT_EQ(steps.unmark(), kOwnMarker);
  EXPECT_FALSE(steps.fsm().delay_markers().has_own());
  EXPECT_EQ(steps.unmark(), "");
}

TEST(AcquireDelay, NodeLostWhileMarking_IsNotGranted) {
  EXPECT_EQ(marking().done(Status::no_node), kUnmarkOwn + ", create id1.2");
  Steps deleted = marking();
  EXPECT_EQ(deleted.own_node_deleted(), "");
  EXPECT_EQ(deleted.done(Status::ok), kUnmarkOwn + ", create id1.2");
  EXPECT_EQ(deleted.created(6), "");
  EXPECT_EQ(deleted.counted(1),
            "mark " + DelayMarker::make(3s, {kTokenOfCreate}, {6}).name + " @a");
  EXPECT_EQ(marking().done(Status::session_ended), "create id1.2")
      << "on that session nothing can be taken away";
  AcquireFsm::Policy fails = with_delay();
  fails.queue_again = false;
  EXPECT_EQ(marking(fails).done(Status::no_node), kUnmarkOwn + ", " + node_deleted(kOwn));
}

// ---- finding a marker --------------------------------------------------------------------------

TEST(AcquireDelay, FirstBehindMarker_WaitsForTheDelay) {
  for (const QueueRule& rule : {QueueRule::mutex(), QueueRule::writer(), QueueRule::reader(),
                                QueueRule::permits(1, 2, false)}) {
    const std::string name = ZnodeName::make(rule.prefix(), {5}).text;
    Steps steps = listing_as(name, {.rule = rule});
    EXPECT_EQ(steps.listed({kLeft, name}), "delay") << name;
    EXPECT_EQ(steps.delay_over(), "clear " + kLeft + " @a");
    EXPECT_EQ(steps.done(Status::ok), "list @a");
    EXPECT_EQ(steps.listed({name}), "grant @a");
  }
}

TEST(AcquireDelay, MarkerOfPresentContender_DoesNotDelay) {
  Steps behind = listing_as(kOwn);
  EXPECT_EQ(behind.listed({kLeft, node(4), kOwn}), "watch " + node(4) + " @a");
  EXPECT_EQ(behind.watched(data_of("other")), "");
  EXPECT_EQ(behind.predecessor_deleted(), "list @a");
  EXPECT_EQ(behind.listed({kLeft, kOwn}), "delay") << "it was lost";
  EXPECT_EQ(listing_as(kOwn, with_delay()).listed({kOwnMarker, kOwn}), kMarkOwn);
}

TEST(AcquireDelay, SeveralMarkers_AreAllAwaitedAndRemoved) {
  for (const Children& lost : {Children{kLeft, kLeftEarlier}, Children{kLeftEarlier, kLeft}}) {
    Steps steps = listing_as(kOwn);
    EXPECT_EQ(steps.listed({lost[0], lost[1], kOwn}), "delay");
    EXPECT_EQ(steps.delay_over(), "clear " + lost[1] + " @a");
    EXPECT_EQ(steps.done(Status::no_node), "clear " + lost[0] + " @a");
    EXPECT_EQ(steps.done(Status::ok), "list @a");
    EXPECT_EQ(steps.listed({kOwn}), "grant @a");
  }
}

TEST(AcquireDelay, SingleAttempt_ClearsOnlyAfterTheDelay) {
  const auto delaying = [] {
    Steps steps = listing_as(kOwn, {.wait = false});
    EXPECT_EQ(steps.listed({kLeft, kOwn}), "delay");
    return steps;
  };
  EXPECT_EQ(delaying().withdraw(), kRemoveOwn);
  EXPECT_EQ(delaying().delay_over(), "clear " + kLeft + " @a") << "it has been known long enough";
}

}  // namespace
}  // namespace zklock::core::acquire_test::lock_delay
