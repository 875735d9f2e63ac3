// SPDX-License-Identifier: Apache-2.0
// Contenders with a lock delay, with a permit count that the ensemble stores, and at a gate.
#include <string>

#include <gtest/gtest.h>

#include "acquire_steps.h"
#include "zklock/core/child_nodes.h"
#include "zklock/core/lock_delay.h"

namespace zklock::core::acquire_test::options {
namespace {

using namespace std::chrono_literals;

const std::string kLeft = DelayMarker::make(7s, {70}, {4}).name;

// ---- the lock delay -----------------------------------------------------------------------------

TEST(AcquireDelay, ShortestLockDelay_Marks) {
  const std::string own = node(5);
  const std::string marker = DelayMarker::make(1ms, {kTokenOfCreate}, {5}).name;
  Steps steps = listing_as(own, {.lock_delay = 1ms});
  EXPECT_EQ(steps.listed({own}), "mark " + marker + " @a");
  EXPECT_EQ(steps.done(Status::ok), "grant @a");
}

TEST(AcquireDelay, FirstBehindMarker_ClearsItAfterTheDelay) {
  for (const QueueRule& rule : {QueueRule::mutex(), QueueRule::writer(), QueueRule::reader(),
                                QueueRule::permits(1, 2, false)}) {
    const std::string name = ZnodeName::make(rule.prefix(), {5}).text;
    Steps steps = listing_as(name, {.rule = rule, .wait = false});
    EXPECT_EQ(steps.listed({kLeft, name}), "delay") << name;
    EXPECT_EQ(steps.delay_over(), "clear " + kLeft + " @a");
    EXPECT_EQ(steps.done(Status::ok), "list @a");
    EXPECT_EQ(steps.listed({name}), "grant @a");
  }
}

// ---- the permit count ---------------------------------------------------------------------------

TEST(PermitCount, OtherThanDecimalNumber_IsNotParsed) {
  EXPECT_EQ(parse_permit_count("0"), 0);
  EXPECT_EQ(parse_permit_count("17"), 17);
  EXPECT_EQ(parse_permit_count("2147483647"), 2147483647);
  for (const char* bad : {"", " ", "-1", "-0", "+1", "2147483648", "99999999999999999999", "4 ",
                          " 4", "4\n", "4.0", "0x4", "four"}) {
    EXPECT_EQ(parse_permit_count(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_permit_count(std::string_view("4\0", 2)), std::nullopt);
}

/// Requests two permits. If no count is stored, it stores four.
const AcquireFsm::Policy kTwo{.rule = QueueRule::permits(2, 4, true)};
const std::string kPermits = ZnodeName::make(permits_prefix(2, 0), {5}).text;
const std::string kAhead = ZnodeName::make(permits_prefix(2, 0), {4}).text;
const Children kAlone{std::string(kCountNode), kPermits};
const Children kQueue{kAhead, kPermits, std::string(kCountNode)};

PermitsAnswer says(std::string_view data, SessionId session = kSessionA) {
  return {.session = session, .data = data};
}

/// The reply to the create has arrived, and the list is awaited.
Steps enqueued() {
  Steps steps(kTwo);
  steps.start();
  steps.created_as(kPermits);
  return steps;
}

TEST(AcquireCount, StoredCount_DecidesInsteadOfItsOwn) {
  const std::string wait = "watch " + kAhead + " @a, watch count @a";
  EXPECT_EQ(enqueued().listed(kAlone, says("2")), "grant @a");
  EXPECT_EQ(enqueued().listed(kAlone, says("1")), "watch count @a");
  EXPECT_EQ(enqueued().listed(kQueue, says("3")), wait);
  EXPECT_EQ(enqueued().listed(kQueue, says("4")), "grant @a");
  EXPECT_EQ(enqueued().listed(kAlone, says("4", kSessionB)), "list @a") << "of another session";
  EXPECT_EQ(enqueued().counted(1), "list @a") << "a count of the children says nothing";
}

TEST(AcquireCount, CountChanges_ListsAgain) {
  Steps steps = enqueued();
  steps.listed(kQueue, says("3"));
  steps.watched_as(kAhead, Status::ok);
  Steps meanwhile = steps;
  EXPECT_EQ(meanwhile.watched_count("4"), "unwatch, list @a") << "the decision was about three";
  EXPECT_EQ(steps.watched_count("3"), "");
  EXPECT_EQ(steps.changed(kCountNode), "unwatch, list @a") << "not a release";
}

TEST(AcquireCount, CountMissing_IsStoredAtMostSixteenTimes) {
  const PermitsAnswer missing{.status = Status::no_node, .session = kSessionA};
  Steps steps = enqueued();
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(steps.listed(kAlone, missing), "create_count 4 @a");
    EXPECT_EQ(steps.done(Status::ok), "list @a");
  }
  EXPECT_EQ(
      steps.listed(kAlone, missing),
      "remove_node " + kPermits + " @a, " +
          failure(Errc::server_error, "the permit count is repeatedly deleted by another client"));
}

TEST(AcquireCount, UnusableCount_FailsWithItsCause) {
  const std::string text =
      "the znode count has the data \"four\", which is not a permit count; call set_permits()";
  EXPECT_EQ(enqueued().listed(kAlone, says("four")),
            "remove_node " + kPermits + " @a, " + failure(Errc::bad_data, text));
  EXPECT_EQ(
      listing_as(kPermits, kTwo)
          .listed(kAlone, {.status = Status::no_auth, .session = kSessionA, .detail = "the ACL"}),
      "remove_node " + kPermits + " @a, " + failure(Errc::no_auth, "the ACL"));
}

// ---- the gate -----------------------------------------------------------------------------------

std::string weighted(int weight, int sequence) {
  return ZnodeName::make(weight_prefix(weight, 100), {sequence}).text;
}

const std::string kAtGate = weighted(5, 5);
const std::string kMovedTo = node(8);

Steps at_the_gate() {
  Steps steps({.gate = QueueRule::weighted(5, 100)});
  steps.start();
  steps.created_as(kAtGate);
  return steps;
}

TEST(AcquireGate, BehindOthers_MovesOnceFirstAtTheGate) {
  Steps steps = at_the_gate();
  EXPECT_EQ(steps.counted(3), "list @a") << "no contender can be guessed";
  EXPECT_EQ(steps.listed({kAtGate, weighted(9, 6), node(4)}), "watch " + weighted(9, 6) + " @a");
  EXPECT_EQ(steps.fsm().predecessors().position(), 2U);
  EXPECT_EQ(steps.watched(data_of("other")), "");
  EXPECT_EQ(steps.predecessor_deleted(), "list @a");
  EXPECT_EQ(steps.listed({kAtGate, node(7)}), "watch " + node(7) + " @a") << "that one has moved";
  EXPECT_EQ(steps.watched(data_of("other")), "");
  EXPECT_EQ(steps.predecessor_released(), "list @a") << "its grant does not need this move";
  EXPECT_EQ(steps.listed({kAtGate, kLeft, weighted(1, 3)}), "move id1.2 @a");
  EXPECT_EQ(steps.moved(8), "list @a");
  EXPECT_EQ(steps.listed({kMovedTo, weighted(1, 3), weighted(10, 9)}), "grant @a");
  EXPECT_EQ(steps.fsm().node().token().zxid, kTokenOfMove);
}

TEST(AcquireGate, MoveReplyLost_SearchesInTheQueueOnly) {
  Steps steps = at_the_gate();
  EXPECT_EQ(steps.counted(1), "move id1.2 @a");
  EXPECT_EQ(steps.own_node_deleted(), "") << "the move can have deleted it";
  EXPECT_EQ(steps.created(Status::unknown), "check_path @a");
  EXPECT_EQ(steps.done(Status::ok), "list @a");
  Steps not_found = steps;
  EXPECT_EQ(steps.listed({node(7), kMovedTo, weighted(9, 6)}), "inspect " + kMovedTo + " @a");
  EXPECT_EQ(steps.inspected(data_of("id1.2")), "list @a");
  EXPECT_EQ(steps.listed({kMovedTo, node(9)}), "grant @a");
  // A list must show first that its znode at the gate is not another's in a recreated path.
  EXPECT_EQ(not_found.listed({kAtGate}), "remove_late_create id1.2 @a, list @a");
  Steps unlisted = not_found;
  EXPECT_EQ(unlisted.withdraw(), "remove_node " + kAtGate + " if own @a");
  Steps listed = not_found;
  EXPECT_EQ(listed.listed({kAtGate, node(7)}), "watch " + node(7) + " @a");
  EXPECT_EQ(listed.withdraw(), "unwatch, remove_node " + kAtGate + " @a");
  EXPECT_EQ(not_found.listed({kAtGate}), "move id1.3 @a");
}

}  // namespace
}  // namespace zklock::core::acquire_test::options
