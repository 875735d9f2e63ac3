// SPDX-License-Identifier: Apache-2.0
// The sequence numbers of a path: names that are taken, and a counter at its end.
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "acquire_steps.h"
#include "zklock/core/lock_delay.h"

namespace zklock::core::acquire_test::counter_end {
namespace {

const std::string kOwn = node(5);
const std::string kRemoveOwn = "remove_node lock-0000000005 @a";

TEST(AcquireCounterEnd, NumberUnusable_RemovesNodeAndParent) {
  using Limits = std::numeric_limits<std::int32_t>;
  Steps last = steps_in(State::enqueuing);
  last.created(kFirstUnusableSequence.value - 1);
  EXPECT_EQ(last.counted(1), "grant @a") << "the last usable number";
  for (const std::int32_t number :
       {kFirstUnusableSequence.value, Limits::max(), Limits::min(), -1}) {
    Steps steps = steps_in(State::enqueuing);
    steps.created(number);
    EXPECT_EQ(steps.counted(1), "remove_node " + node(number) + " @a, remove_path") << number;
    EXPECT_EQ(steps.state(), State::removing_path);
    EXPECT_FALSE(steps.fsm().node().exists());
    EXPECT_EQ(steps.done(Status::ok), "create id1.2");
    steps.created(0);
    EXPECT_EQ(steps.counted(1), "grant @a");
  }
}

TEST(AcquireCounterEnd, NameUnreadable_RemovesNodeAndParent) {
  for (const std::string name : {"lock-99999999999", "lock-", "lock-2147483648", ""}) {
    Steps steps = steps_in(State::enqueuing);
    steps.created_as(name);
    const std::string removal = name.empty() ? "remove_node" : "remove_node " + name;
    EXPECT_EQ(steps.counted(1), removal + " @a, remove_path");
  }
}

/// Why a machine lists the children without a znode of its own.
enum class Cause { counter_ended, name_taken, path_not_empty };

Steps draining(Cause cause, const AcquireFsm::Policy& policy) {
  Steps steps = steps_in(cause == Cause::counter_ended ? State::idle
                         : cause == Cause::name_taken  ? State::enqueuing
                                                       : State::removing_path,
                         policy);
  EXPECT_EQ(cause == Cause::counter_ended ? steps.start(true)
            : cause == Cause::name_taken  ? steps.answer(Status::node_exists)
                                          : steps.done(Status::not_empty),
            "list");
  EXPECT_FALSE(steps.fsm().node().exists());
  return steps;
}

TEST(AcquireCounterEnd, ListWhileDraining_Decides) {
  constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kEnd = kFirstUnusableSequence.value;
  const std::string count(kCountNode);
  const std::string left = DelayMarker::make(std::chrono::seconds(7), {70}, {4}).name;
  const std::string writer = ZnodeName::make(kWritePrefix, {4}).text;
  struct Case {
    Cause cause;
    Children children;
    std::int32_t next;  ///< the counter of the path
    std::string effects;
    std::string of_single_attempt;
  };
  const Case cases[] = {
      {Cause::counter_ended, {node(7)}, kEnd, "pause", ""},
      {Cause::counter_ended, {"release-request-0000000007"}, kEnd, "pause", ""},
      {Cause::counter_ended, {"proclaimed-0000000007"}, kEnd, "pause", ""},
      {Cause::counter_ended, {"held-1700000000123-0000000007"}, kEnd, "pause", ""},
      {Cause::counter_ended, {left, node(7)}, kEnd, "pause", ""},
      {Cause::counter_ended, {left}, kEnd, "create id1.1", "create id1.1"},  // to clear it
      {Cause::counter_ended, {node(0)}, 1, "create id1.1", "create id1.1"},
      {Cause::name_taken, {node(3), node(4)}, 4, taken(node(4)), taken(node(4))},
      {Cause::name_taken, {writer}, 4, "create id1.2", "create id1.2"},
      {Cause::name_taken, {node(kLast)}, kLast, "pause", ""},
      {Cause::name_taken, {}, kLast, "remove_path", "remove_path"},
      {Cause::path_not_empty, {"config"}, kEnd, exhausted("config"), exhausted("config")},
      {Cause::path_not_empty, {count, "zone"}, kEnd, exhausted("zone"), exhausted("zone")},
      {Cause::path_not_empty, {count, node(7)}, kEnd, "pause", ""},
      {Cause::path_not_empty, {count}, kEnd, "remove_path count", "remove_path count"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(draining(each.cause, {}).drained(each.children, {each.next}), each.effects);
    Steps once = draining(each.cause, {.wait = false});
    EXPECT_EQ(once.drained(each.children, {each.next}), each.of_single_attempt);
  }
}

TEST(AcquireCounterEnd, SharedCountLeft_RecreatedWithThePath) {
  const std::string count(kCountNode);
  Steps steps = steps_in(State::removing_path);
  EXPECT_EQ(steps.done(Status::not_empty), "list");
  EXPECT_EQ(steps.drained({count, node(7)}), "pause");
  EXPECT_EQ(steps.resume(), "list");
  EXPECT_EQ(steps.drained({count}), "remove_path count");
  EXPECT_EQ(steps.done(Status::bad_version), "list") << "it was set meanwhile";
  EXPECT_EQ(steps.drained({count}), "remove_path count");
  EXPECT_EQ(steps.done(Status::ok), "create id1.2");
}

TEST(AcquireCounterEnd, CounterAlwaysAtItsEnd_Fails) {
  Steps steps = steps_in(State::enqueuing);
  std::string effects;
  int removed = 0;
  for (; removed < 100; ++removed) {
    steps.created(kFirstUnusableSequence.value);
    effects = steps.counted(1);
    if (steps.fsm().has_ended()) break;
    steps.done(Status::ok);
  }
  EXPECT_EQ(removed, 16);
  EXPECT_EQ(effects, "remove_node " + node(kFirstUnusableSequence.value) + " @a, " +
                         failure(Errc::sequence_exhausted,
                                 "the sequence counter is still exhausted after 16 attempts to "
                                 "recreate the path; delete the path when no contender waits"));
}

// Since the create, the znode was deleted, another child was created, or the path was recreated.
TEST(AcquireCounterEnd, NextNameIsFreeAgain_Enqueues) {
  for (const Children& children : {Children{}, Children{node(4)}, Children{node(5), "config"}}) {
    Steps steps = steps_in(State::enqueuing);
    EXPECT_EQ(steps.answer(Status::node_exists), "list");
    EXPECT_EQ(steps.drained(children, {6}), "create id1.2");
    steps.created(6);
    EXPECT_EQ(steps.counted(1), "grant @a");
  }
}

TEST(AcquireCounterEnd, MoveTargetNameTaken_QueuesAtTheGateAgain) {
  const auto gate = QueueRule::weighted(5, 100);
  Steps steps({.gate = gate});
  steps.start();
  const std::string at_gate = ZnodeName::make(gate.prefix(), {3}).text;
  steps.created_as(at_gate);
  EXPECT_EQ(steps.counted(1), "move id1.2 @a");
  EXPECT_EQ(steps.moved(Status::node_exists), "remove_node " + at_gate + " if own @a, list");
  EXPECT_EQ(steps.drained({node(4)}, {4}), "create id1.3") << "which takes the number 4";
  EXPECT_TRUE(steps.fsm().node().at_gate());
}

TEST(AcquireCounterEnd, NameAtTheGateTaken_FailsAndNamesTheZnode) {
  const auto gate = QueueRule::weighted(5, 100);
  const std::string at_gate = ZnodeName::make(gate.prefix(), {4}).text;
  Steps steps({.gate = gate});
  steps.start();
  EXPECT_EQ(steps.answer(Status::node_exists), "list");
  EXPECT_EQ(steps.drained({at_gate}, {4}), taken(at_gate));
}

TEST(AcquireCounterEnd, AdoptedNumberUnusable_RemovesNodeAndParent) {
  for (const std::int32_t number : {kFirstUnusableSequence.value, -1}) {
    Steps steps = steps_in(State::recovering);
    EXPECT_EQ(steps.listed({node(number)}), "inspect " + node(number) + " @a");
    EXPECT_EQ(steps.inspected(data_of("id1.1")), "list @a");
    EXPECT_EQ(steps.listed({node(number)}), "remove_node " + node(number) + " @a, remove_path");
  }
}

// No later contender would do it, because no contender of that path is granted.
TEST(AcquireCounterEnd, MarkerAtTheCounterEnd_IsClearedAfterTheDelay) {
  const std::string left = DelayMarker::make(std::chrono::seconds(7), {70}, {4}).name;
  for (const std::int32_t number : {kFirstUnusableSequence.value, -1}) {
    for (const bool shared : {false, true}) {
      const auto rule = shared ? QueueRule::permits(1, 2, true) : QueueRule::mutex();
      const std::string last = ZnodeName::make(rule.prefix(), {number}).text;
      Steps steps({.rule = rule});
      steps.start();
      steps.created_as(last);
      if (!shared) {
        EXPECT_EQ(steps.counted(2), "list @a");
        EXPECT_EQ(steps.listed({left, last}), "delay");
      } else {
        EXPECT_EQ(steps.listed({left, last}), "list @a") << "of another session";
        EXPECT_EQ(steps.listed({left, last}), "delay") << "no number is put there";
      }
      EXPECT_EQ(steps.delay_over(), "clear " + left + " @a");
      EXPECT_EQ(steps.done(Status::ok), "list @a");
      EXPECT_EQ(steps.listed({last}), "remove_node " + last + " @a, remove_path");
      EXPECT_EQ(steps.done(Status::ok), "create id1.2");
    }
  }
}

TEST(AcquireCounterEnd, MarkerAtTheGateCounterEnd_IsAwaited) {
  const auto gate = QueueRule::weighted(5, 100);
  const std::string last = ZnodeName::make(gate.prefix(), kFirstUnusableSequence).text;
  const std::string left = DelayMarker::make(std::chrono::seconds(7), {70}, {4}).name;
  EXPECT_EQ(listing_as(last, {.gate = gate}).listed({left, last}), "delay");
}

TEST(AcquireCounterEnd, BehindOthersAtTheEnd_DoesNotAwaitTheDelay) {
  const std::string last = node(kFirstUnusableSequence.value);
  const std::string left = DelayMarker::make(std::chrono::seconds(7), {70}, {4}).name;
  Steps steps = steps_in(State::enqueuing);
  steps.created(kFirstUnusableSequence.value);
  EXPECT_EQ(steps.counted(3), "list @a");
  EXPECT_EQ(steps.listed({left, node(5), last}), "remove_node " + last + " @a, remove_path");
  EXPECT_EQ(steps.done(Status::not_empty), "list");
  EXPECT_EQ(steps.drained({left, node(5)}), "pause");
}

}  // namespace
}  // namespace zklock::core::acquire_test::counter_end
