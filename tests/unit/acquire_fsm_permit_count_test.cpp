// SPDX-License-Identifier: Apache-2.0
// A contender with a permit count that the ensemble stores.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "acquire_steps.h"
#include "zklock/core/child_nodes.h"

namespace zklock::core::acquire_test::permit_count {
namespace {

std::string permits(int sequence, int wanted = 1) {
  return ZnodeName::make(permits_prefix(wanted, 0), {sequence}).text;
}

/// Requests two permits. If no count is stored, it stores four.
const AcquireFsm::Policy kTwo{.rule = QueueRule::permits(2, 4, true)};
const std::string kOwn = permits(5, 2);
const Children kAlone{std::string(kCountNode), kOwn};
const std::string kBefore = permits(4, 2);
const Children kQueue{kBefore, kOwn, std::string(kCountNode)};
const std::string kWatchCount = "watch count @a";
const std::string kRemoveOwn = "remove_node " + kOwn + " @a";

PermitsAnswer says(std::string_view data, SessionId session = kSessionA) {
  return {.session = session, .data = data};
}
PermitsAnswer count_failed(Status status, std::string_view detail = {}) {
  return {.status = status, .session = kSessionA, .detail = detail};
}

/// The reply to the create has arrived.
Steps enqueuing(AcquireFsm::Policy policy = kTwo) {
  Steps steps(std::move(policy));
  EXPECT_EQ(steps.start(), "create id1.1");
  EXPECT_EQ(steps.created_as(kOwn), "");
  return steps;
}

Steps listing(AcquireFsm::Policy policy = kTwo) {
  Steps steps = enqueuing(std::move(policy));
  EXPECT_EQ(steps.listed(Status::unknown), "list @a");
  return steps;
}

/// Waits behind one contender. The count is three.
Steps waiting() {
  Steps steps = listing();
  EXPECT_EQ(steps.listed(kQueue, says("3")), "watch " + kBefore + " @a, " + kWatchCount);
  EXPECT_EQ(steps.watched_as(kBefore, Status::ok), "");
  EXPECT_EQ(steps.watched_count("3"), "");
  EXPECT_EQ(steps.state(), State::waiting);
  return steps;
}

Steps creating_count() {
  Steps steps = listing();
  EXPECT_EQ(steps.listed(kAlone, count_failed(Status::no_node)), "create_count 4 @a");
  EXPECT_EQ(steps.state(), State::creating_count);
  return steps;
}

// ---- the data -----------------------------------------------------------------------------------

TEST(PermitCount, OtherThanDecimalNumber_IsNotParsed) {
  EXPECT_EQ(parse_permit_count("0"), 0);
  EXPECT_EQ(parse_permit_count("17"), 17);
  EXPECT_EQ(parse_permit_count("2147483647"), 2147483647);
  for (const char* bad : {"", " ", "-1", "-0", "+1", "2147483648", "99999999999999999999", "4 ",
                          " 4", "4\n", "4.0", "0x4", "four"}) {
    EXPECT_EQ(parse_permit_count(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_permit_count(std::string_view("4\0", 2)), std::nullopt);
  EXPECT_EQ(parse_znode_name(kCountNode), std::nullopt) << "it is no contender";
}

// ---- the first round ----------------------------------------------------------------------------

TEST(AcquireCount, PermitsFree_IsGrantedInOneRound) {
  EXPECT_EQ(enqueuing().listed(kAlone, says("2")), "grant @a");
  EXPECT_EQ(enqueuing().listed(kQueue, says("4")), "grant @a");
}

TEST(AcquireCount, AloneWithTooFewPermits_WatchesTheCount) {
  for (const char* few : {"0", "1"}) {
    Steps steps = enqueuing();
    EXPECT_EQ(steps.listed({kOwn}, says(few)), kWatchCount) << "regardless of its own count";
    EXPECT_EQ(steps.state(), State::arming);
  }
  // A reply to a count of the children says nothing about the permits.
  Steps counted = enqueuing();
  EXPECT_EQ(counted.counted(1), "list @a");
}

TEST(AcquireCount, CountExists_OverridesTheInitialCount) {
  EXPECT_EQ(enqueuing().listed(kQueue, says("3")), "watch " + kBefore + " @a, " + kWatchCount);
  EXPECT_EQ(enqueuing().listed(kQueue, says("5")), "grant @a");
}

TEST(AcquireCount, UnusableFirstList_ListsAgain) {
  EXPECT_EQ(enqueuing().listed(kAlone, says("4", kSessionB)), "list @a");
  EXPECT_EQ(enqueuing().listed(Status::unknown), "list @a");
  EXPECT_EQ(enqueuing().listed(kAlone, count_failed(Status::unknown)), "list @a");
  Steps early(kTwo);
  early.start();
  EXPECT_EQ(early.listed(kAlone, says("4")), "");
  EXPECT_EQ(early.created_as(kOwn), "list @a");
}

TEST(AcquireCount, CreateFails_RecoversWithoutTheCount) {
  Steps no_parent(kTwo);
  no_parent.start();
  no_parent.created(Status::no_node);
  EXPECT_EQ(no_parent.listed(Status::no_node), "create_parents");
  EXPECT_EQ(no_parent.parents_created(Status::ok), "create id1.2");
  Steps lost(kTwo);
  lost.start();
  lost.created(Status::unknown);
  EXPECT_EQ(lost.listed(Status::unknown), "check_path @a");
  EXPECT_EQ(lost.checked(Status::ok), "list @a");
  EXPECT_EQ(lost.listed(kAlone, count_failed(Status::no_auth)), "inspect " + kOwn + " @a")
      << "the owner of a node does not depend on the count";
  EXPECT_EQ(lost.inspected(data_of("id1.1")), "list @a");
  EXPECT_EQ(lost.listed(kAlone, says("2")), "grant @a");
}

TEST(AcquireCount, WithdrawnWhileEnqueuing_RemovesNode) {
  Steps steps = enqueuing();
  EXPECT_EQ(steps.withdraw(), "drop_unsent");
  EXPECT_EQ(steps.listed(kAlone, says("4")), kRemoveOwn);
  EXPECT_TRUE(steps.fsm().has_ended());
}

// ---- a missing count ---------------------------------------------------------------------------

TEST(AcquireCount, CountMissing_SeedsTheCount) {
  EXPECT_EQ(enqueuing().listed(kAlone, count_failed(Status::no_node)), "create_count 4 @a");
  for (const Status status : {Status::ok, Status::node_exists, Status::no_node}) {
    Steps steps = creating_count();
    EXPECT_EQ(steps.count_created(status), "list @a") << core::to_string(status);
  }
  Steps loser = creating_count();
  loser.count_created(Status::node_exists);
  EXPECT_EQ(loser.listed(kAlone, says("1")), kWatchCount) << "the winner's number counts";
}

TEST(AcquireCount, SeedOutcomeUnknown_SeedsAgain) {
  Steps steps = creating_count();
  EXPECT_EQ(steps.count_created(Status::unknown), "create_count 4 @a");
  EXPECT_EQ(steps.count_created(Status::throttled), "pause");
  EXPECT_EQ(steps.resume(), "create_count 4 @a");
  EXPECT_EQ(steps.count_created(Status::session_ended), "create id1.2");
}

TEST(AcquireCount, SeedRefused_Fails) {
  Steps steps = creating_count();
  EXPECT_EQ(steps.count_created(Status::no_auth, "why"),
            kRemoveOwn + ", " + failure(Errc::no_auth, "why"));
  EXPECT_TRUE(steps.fsm().has_ended());
}

TEST(AcquireCount, NodeLostOrWithdrawnWhileSeeding_IsNotGranted) {
  Steps deleted = creating_count();
  EXPECT_EQ(deleted.own_node_deleted(), "");
  EXPECT_EQ(deleted.count_created(Status::ok), "create id1.2");
  Steps leaving = creating_count();
  EXPECT_EQ(leaving.withdraw(), kRemoveOwn);
  EXPECT_EQ(leaving.count_created(Status::ok), "");
  EXPECT_TRUE(leaving.fsm().has_ended());
}

TEST(AcquireCount, CountDeletedRepeatedly_Fails) {
  Steps steps = creating_count();
  for (int i = 1; i < 16; ++i) {
    EXPECT_EQ(steps.count_created(Status::ok), "list @a");
    EXPECT_EQ(steps.listed(kAlone, count_failed(Status::no_node)), "create_count 4 @a");
  }
  steps.count_created(Status::ok);
  EXPECT_EQ(
      steps.listed(kAlone, count_failed(Status::no_node)),
      kRemoveOwn + ", " +
          failure(Errc::server_error, "the permit count is repeatedly deleted by another client"));
}

// ---- an unreadable count -----------------------------------------------------------------------

TEST(AcquireCount, CountUnreadable_Fails) {
  for (const bool at_once : {true, false}) {
    Steps steps = at_once ? enqueuing() : listing();
    EXPECT_EQ(
        steps.listed(kAlone, says("four")),
        kRemoveOwn + ", " +
            failure(Errc::bad_data,
                    "the znode count has the data \"four\", which is not a permit count; call "
                    "set_permits()"));
    EXPECT_TRUE(steps.fsm().has_ended());
  }
}

TEST(AcquireCount, CountReadFails_FailsTheCallOrRetries) {
  EXPECT_EQ(listing().listed(kAlone, count_failed(Status::no_auth, "the ACL")),
            kRemoveOwn + ", " + failure(Errc::no_auth, "the ACL"));
  EXPECT_EQ(listing().listed(kAlone, count_failed(Status::server_error, "why")),
            kRemoveOwn + ", " + failure(Errc::server_error, "why"));
  EXPECT_EQ(listing().listed(kAlone, count_failed(Status::unknown)), "list @a");
  EXPECT_EQ(listing().listed(kAlone, count_failed(Status::session_ended)), "create id1.2");
  EXPECT_EQ(listing().listed(kAlone, count_failed(Status::throttled)), "pause");
}

// ---- changes ------------------------------------------------------------------------------------

TEST(AcquireCount, CountChangedWhileWaiting_ListsAgain) {
  Steps raised = waiting();
  EXPECT_EQ(raised.changed(kCountNode), "unwatch, list @a");
  EXPECT_EQ(raised.listed(kQueue, says("4")), "grant @a");
  Steps lowered = waiting();
  lowered.changed(kCountNode);
  EXPECT_EQ(lowered.listed(kQueue, says("1")), kWatchCount)
      << "no release by another contender suffices";
  EXPECT_EQ(lowered.watched_count("1"), "");
  EXPECT_EQ(lowered.deleted(kBefore), "") << "it was called off";
  Steps deleted = waiting();
  EXPECT_EQ(deleted.deleted(kCountNode), "unwatch, list @a");
  EXPECT_EQ(deleted.listed(kQueue, count_failed(Status::no_node)), "create_count 4 @a");
}

TEST(AcquireCount, CountChanged_IsNotTakenForARelease) {
  // The data of the last watched znode promise an announcement of its release.
  Steps steps = listing();
  steps.listed(kQueue, says("3"));
  steps.watched_count("3");
  EXPECT_EQ(steps.watched_as(kBefore, Status::ok), "");
  EXPECT_EQ(steps.changed(kCountNode), "unwatch, list @a");
}

TEST(AcquireCount, CountChangedWhileArming_ListsAgain) {
  Steps steps = listing();
  steps.listed(kQueue, says("3"));
  steps.watched_as(kBefore, Status::ok);
  EXPECT_EQ(steps.watched_count("4"), "unwatch, list @a") << "it is not what it was decided by";
  Steps event = listing();
  event.listed(kQueue, says("3"));
  event.watched_count("3");
  EXPECT_EQ(event.changed(kCountNode), "");
  EXPECT_EQ(event.watched_as(kBefore, Status::ok), "unwatch, list @a");
  Steps deleted = listing();
  deleted.listed(kQueue, says("3"));
  deleted.watched_as(kBefore, Status::ok);
  EXPECT_EQ(deleted.watched_as(kCountNode, Status::no_node), "unwatch, list @a");
}

TEST(AcquireCount, Confirmed_ReadsTheCountAgain) {
  Steps steps = listing();
  EXPECT_EQ(steps.listed(kAlone, says("4"), false), "check_own @a");
  EXPECT_EQ(steps.checked(Status::ok, false), "pause");
  EXPECT_EQ(steps.resume(), "check_own @a");
  EXPECT_EQ(steps.checked(Status::ok), "list @a");
  EXPECT_EQ(steps.listed(kAlone, says("1")), kWatchCount);
}

TEST(AcquireCount, CountChangedAfterTheEnd_HasNoEffect) {
  Steps granted = listing();
  EXPECT_EQ(granted.listed(kAlone, says("2")), "grant @a");
  EXPECT_EQ(granted.changed(kCountNode), "");
  EXPECT_EQ(granted.state(), State::granted);
  Steps ended = waiting();
  EXPECT_EQ(ended.withdraw(), "unwatch, " + kRemoveOwn);
  EXPECT_EQ(ended.changed(kCountNode), "");
}

// ---- requests for more permits than there are --------------------------------------------------

TEST(AcquireCount, MorePermitsThanTheCount_WaitsForAChange) {
  const auto stuck = [] {
    Steps steps = listing();
    EXPECT_EQ(steps.listed({permits(4), kOwn}, says("1")), kWatchCount);
    EXPECT_EQ(steps.watched_count("1"), "");
    EXPECT_EQ(steps.state(), State::waiting);
    return steps;
  };
  EXPECT_EQ(stuck().deleted(permits(4)), "");
  EXPECT_EQ(stuck().session_ended(), "unwatch, create id1.2");
  EXPECT_EQ(stuck().own_node_deleted(), "unwatch, create id1.2");
  EXPECT_EQ(stuck().withdraw(), "unwatch, " + kRemoveOwn);
  Steps raised = stuck();
  EXPECT_EQ(raised.changed(kCountNode), "list @a");
  EXPECT_EQ(raised.listed({permits(4), kOwn}, says("3")), "grant @a");
}

TEST(AcquireCount, SingleAttempt_DoesNotWaitForPermits) {
  AcquireFsm::Policy once = kTwo;
  once.wait = false;
  EXPECT_EQ(enqueuing(once).listed({kOwn}, says("1")), kRemoveOwn);
  EXPECT_EQ(enqueuing(once).listed({kOwn}, says("2")), "grant @a");
  Steps first = enqueuing(once);
  EXPECT_EQ(first.listed({kOwn}, count_failed(Status::no_node)), "create_count 4 @a");
}

// ---- contenders with another count -------------------------------------------------------------

TEST(AcquireCount, FixedCountAhead_FailsAsMismatched) {
  EXPECT_EQ(listing().listed({"permits-1-of-3-0000000004", kOwn}, says("4")),
            kRemoveOwn + ", " +
                failure(Errc::settings_mismatch,
                        "a contender ahead is set to 3 permits, this contender to the shared "
                        "permit count; use equal settings"));
}

TEST(AcquireCount, OtherRules_IgnoreTheCount) {
  const QueueRule rules[] = {QueueRule::mutex(), QueueRule::reader(),
                             QueueRule::permits(3, 4, false)};
  for (const QueueRule& rule : rules) {
    const std::string name = ZnodeName::make(rule.prefix(), {5}).text;
    Steps steps({.rule = rule});
    steps.start();
    steps.created_as(name);
    steps.counted(Status::unknown);
    EXPECT_EQ(steps.listed({node(4), name}, count_failed(Status::no_node)),
              "watch lock-0000000004 @a");
    steps.watched(Status::ok);
    EXPECT_EQ(steps.changed(kCountNode), "");
    EXPECT_EQ(steps.deleted(node(4)), "list @a");
    EXPECT_EQ(steps.listed({std::string(kCountNode), name}), "grant @a") << rule.prefix();
  }
}

}  // namespace
}  // namespace zklock::core::acquire_test::permit_count
