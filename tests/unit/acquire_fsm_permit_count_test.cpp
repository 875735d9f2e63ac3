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

Steps listing() {
  return listing_as(kOwn, kTwo);
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

// The contender ahead has two permits, and this contender wants two.
TEST(AcquireCount, CountDecides_TheVerdict) {
  const std::string wait = "watch " + kBefore + " @a, " + kWatchCount;
  EXPECT_EQ(enqueuing().listed(kAlone, says("2")), "grant @a");
  for (const char* few : {"0", "1"}) {
    EXPECT_EQ(enqueuing().listed(kAlone, says(few)), kWatchCount) << "despite its own count";
  }
  EXPECT_EQ(enqueuing().listed(kQueue, says("3")), wait) << "despite its own count";
  EXPECT_EQ(enqueuing().listed(kQueue, says("4")), "grant @a");
  EXPECT_EQ(enqueuing().listed(kQueue, says("5")), "grant @a");
  EXPECT_EQ(enqueuing().counted(1), "list @a") << "a count of the children says nothing";
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

TEST(AcquireCount, CreateReplyLost_RecoversWithoutTheCount) {
  Steps lost(kTwo);
  lost.start();
  lost.created(Status::unknown);
  EXPECT_EQ(lost.listed(Status::unknown), "check_path @a");
  EXPECT_EQ(lost.done(Status::ok), "list @a");
  EXPECT_EQ(lost.listed(kAlone, count_failed(Status::no_auth)), "inspect " + kOwn + " @a")
      << "the owner of a node does not depend on the count";
  EXPECT_EQ(lost.inspected(data_of("id1.1")), "list @a");
  EXPECT_EQ(lost.listed(kAlone, says("2")), "grant @a");
}

// ---- a missing count ---------------------------------------------------------------------------

TEST(AcquireCount, CountMissing_SeedsTheCount) {
  EXPECT_EQ(enqueuing().listed(kAlone, count_failed(Status::no_node)), "create_count 4 @a");
  for (const Status status : {Status::ok, Status::node_exists, Status::no_node}) {
    Steps steps = creating_count();
    EXPECT_EQ(steps.done(status), "list @a") << core::to_string(status);
  }
  Steps loser = creating_count();
  loser.done(Status::node_exists);
  EXPECT_EQ(loser.listed(kAlone, says("1")), kWatchCount) << "the winner's number counts";
}

TEST(AcquireCount, CountDeletedRepeatedly_Fails) {
  Steps steps = creating_count();
  for (int i = 1; i < 16; ++i) {
    EXPECT_EQ(steps.done(Status::ok), "list @a");
    EXPECT_EQ(steps.listed(kAlone, count_failed(Status::no_node)), "create_count 4 @a");
  }
  steps.done(Status::ok);
  EXPECT_EQ(
      steps.listed(kAlone, count_failed(Status::no_node)),
      kRemoveOwn + ", " +
          failure(Errc::server_error, "the permit count is repeatedly deleted by another client"));
}

// ---- an unreadable count -----------------------------------------------------------------------

TEST(AcquireCount, CountUnreadable_Fails) {
  const std::string text =
      "the znode count has the data \"four\", which is not a permit count; call set_permits()";
  for (Steps steps : {enqueuing(), listing()}) {
    EXPECT_EQ(steps.listed(kAlone, says("four")),
              kRemoveOwn + ", " + failure(Errc::bad_data, text));
    EXPECT_TRUE(steps.fsm().has_ended());
  }
}

TEST(AcquireCount, CountRefused_FailsWithItsCause) {
  EXPECT_EQ(listing().listed(kAlone, count_failed(Status::no_auth, "the ACL")),
            kRemoveOwn + ", " + failure(Errc::no_auth, "the ACL"));
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
  EXPECT_EQ(steps.done(Status::ok, false), "pause");
  EXPECT_EQ(steps.resume(), "check_own @a");
  EXPECT_EQ(steps.done(Status::ok), "list @a");
  EXPECT_EQ(steps.listed(kAlone, says("1")), kWatchCount);
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

TEST(AcquireCount, OtherRules_IgnoreTheCount) {
  const QueueRule rules[] = {QueueRule::mutex(), QueueRule::reader(),
                             QueueRule::permits(3, 4, false)};
  for (const QueueRule& rule : rules) {
    const std::string name = ZnodeName::make(rule.prefix(), {5}).text;
    Steps steps = listing_as(name, {.rule = rule});
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
