// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "acquire_steps.h"

// Contenders that watch several znodes at once.
namespace zklock::core::acquire_test::watches {
namespace {

std::string permits(int sequence, int wanted = 1) {
  return ZnodeName::make(permits_prefix(wanted, 4), {sequence}).text;
}

const AcquireFsm::Policy kTwoOfFour{.rule = QueueRule::permits(2, 4, false)};
const std::string kOwn = permits(5, 2);
const Children kQueue{permits(1), permits(2), permits(3), permits(4), kOwn};
const std::string kRemoveOwn = "remove_node " + kOwn + " @a";
const std::string kWatchThree =
    "watch " + permits(4) + " @a, watch " + permits(3) + " @a, watch " + permits(2) + " @a";

Steps arming_three(const AcquireFsm::Policy& policy = kTwoOfFour) {
  Steps steps = listing_as(kOwn, policy);
  EXPECT_EQ(steps.listed(kQueue), kWatchThree);
  return steps;
}

void arm(Steps& steps, const std::vector<int>& sequences) {
  for (const int sequence : sequences) {
    EXPECT_EQ(steps.watched_as(permits(sequence), Status::ok), "");
  }
}

Steps waiting_for_three(const AcquireFsm::Policy& policy = kTwoOfFour) {
  Steps steps = arming_three(policy);
  arm(steps, {4, 3, 2});
  EXPECT_EQ(steps.state(), State::waiting);
  return steps;
}

/// Waits behind a contender of three permits of four. Only that contender is watched.
Steps waiting_for_one() {
  Steps steps = listing_as(kOwn, kTwoOfFour);
  EXPECT_EQ(steps.listed({permits(3, 3), kOwn}), "watch " + permits(3, 3) + " @a");
  steps.watched(Status::ok);
  EXPECT_EQ(steps.state(), State::waiting);
  return steps;
}

// ---- arming -------------------------------------------------------------------------------------

TEST(AcquireWatches, LastReplyReceived_Waits) {
  for (const std::vector<int>& order :
       {std::vector{2, 3, 4}, std::vector{4, 2, 3}, std::vector{3, 4, 2}}) {
    Steps steps = arming_three();
    for (const int sequence : order) {
      EXPECT_EQ(steps.state(), State::arming);
      arm(steps, {sequence});
    }
    EXPECT_EQ(steps.state(), State::waiting);
  }
}

TEST(AcquireWatches, ReplyForAnotherNode_HasNoEffect) {
  Steps steps = arming_three();
  arm(steps, {4, 3});
  EXPECT_EQ(steps.watched_as(permits(1), Status::ok), "");
  EXPECT_EQ(steps.watched_as(permits(1), Status::closed), "");
  EXPECT_EQ(steps.state(), State::arming);
}

std::string after(Status status) {
  switch (status) {
    case Status::unknown: return kWatchThree;
    case Status::session_ended: return "create id1.2";
    case Status::throttled: return "pause";
    case Status::no_node: return "list @a";
    default: return kRemoveOwn + ", fail ";
  }
}

TEST(AcquireWatches, OneWatchFails_UnwatchesTheOthers) {
  for (const Status status : kAllStatuses) {
    if (status == Status::ok || status == Status::not_sent) continue;
    for (std::size_t failing = 0; failing < 3; ++failing) {
      Steps steps = arming_three();
      std::string effects;
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(effects, "") << "before all answers are in";
        effects =
            steps.watched_as(permits(4 - static_cast<int>(i)), i == failing ? status : Status::ok);
      }
      const std::string wanted = "unwatch, " + after(status);
      EXPECT_EQ(effects.substr(0, wanted.size()), wanted) << core::to_string(status);
      if (!wanted.ends_with("fail ")) {
        EXPECT_EQ(effects, wanted);
      }
    }
  }
}

TEST(AcquireWatches, NoWatchArmed_UnwatchesNone) {
  for (const Status status : kAllStatuses) {
    if (status == Status::ok || status == Status::not_sent) continue;
    Steps steps = arming_three();
    steps.watched_as(permits(4), status);
    steps.watched_as(permits(3), status);
    const std::string effects = steps.watched_as(permits(2), status);
    EXPECT_EQ(effects.substr(0, after(status).size()), after(status)) << core::to_string(status);
  }
}

TEST(AcquireWatches, FailureAndMissingNode_FailureDecides) {
  Steps steps = arming_three();
  steps.watched_as(permits(4), Status::no_node);
  steps.watched_as(permits(3), Status::no_auth);
  EXPECT_EQ(steps.watched_as(permits(2), Status::ok),
            "unwatch, " + kRemoveOwn + ", " + failure(Errc::no_auth));
}

TEST(AcquireWatches, SeveralFailures_TheFirstDecides) {
  Steps steps = arming_three();
  steps.watched_as(permits(4), Status::throttled);
  steps.watched_as(permits(3), Status::no_auth);
  EXPECT_EQ(steps.watched_as(permits(2), Status::unknown), "pause");
  EXPECT_EQ(steps.resume(), kWatchThree);
  EXPECT_EQ(steps.state(), State::arming);
  arm(steps, {4, 3});
  EXPECT_EQ(steps.state(), State::arming) << "all watches are requested again";
  arm(steps, {2});
  EXPECT_EQ(steps.state(), State::waiting) << "and what had failed is forgotten";
}

TEST(AcquireWatches, DeletedWhileArmingOthers_ListsAfterAllReplies) {
  Steps steps = arming_three();
  arm(steps, {4});
  EXPECT_EQ(steps.deleted(permits(4)), "") << "the other answers are on their way";
  arm(steps, {3});
  EXPECT_EQ(steps.watched_as(permits(2), Status::ok), "unwatch, list @a");
  EXPECT_EQ(steps.listed({permits(2), permits(3), kOwn}), "grant @a");
}

// The znode was watched before, and that watch was removed.
TEST(AcquireWatches, EventOfUnarmedWatch_HasNoEffect) {
  Steps steps = arming_three();
  EXPECT_EQ(steps.deleted(permits(4)) + steps.changed(permits(3)), "");
  arm(steps, {4, 3, 2});
  EXPECT_EQ(steps.state(), State::waiting);
  EXPECT_EQ(steps.deleted(permits(3)), "unwatch, list @a");
}

// ---- waiting ------------------------------------------------------------------------------------

TEST(AcquireWatches, FirstEvent_UnwatchesAllAndLists) {
  for (const bool changed : {false, true}) {
    Steps steps = waiting_for_three();
    EXPECT_EQ(changed ? steps.changed(permits(3)) : steps.deleted(permits(3)), "unwatch, list @a");
    EXPECT_EQ(steps.deleted(permits(4)), "") << "called off, and just too late";
    EXPECT_EQ(steps.changed(permits(2)), "");
    EXPECT_EQ(steps.state(), State::listing);
  }
}

TEST(AcquireWatches, OnlyWatchedNodeDeleted_UnwatchesNone) {
  Steps steps = waiting_for_one();
  EXPECT_EQ(steps.deleted(permits(3, 3)), "list @a");
  EXPECT_EQ(steps.listed({permits(4, 3), kOwn}), "watch " + permits(4, 3) + " @a");
  steps.watched(Status::ok);
  EXPECT_EQ(steps.deleted(permits(3, 3)), "") << "of an earlier watch";
  EXPECT_EQ(steps.withdraw(), "unwatch, " + kRemoveOwn);
}

// A holder announces its release only to contenders that wait for one znode. Here its change is no
// release.
TEST(AcquireWatches, ChangeOfSharedHolder_IsNoGrant) {
  Steps permit = listing_as(kOwn, kTwoOfFour);
  EXPECT_EQ(permit.listed({node(4), kOwn}), "watch lock-0000000004 @a");
  permit.watched(data_of("other"));
  EXPECT_EQ(permit.predecessor_released(), "list @a");

  const std::string write = "__WRIT__0000000005";
  Steps writer = listing_as(write, {.rule = QueueRule::writer()});
  EXPECT_EQ(writer.listed({"__READ__0000000004", write}), "watch __READ__0000000004 @a");
  writer.watched(data_of("other"));
  EXPECT_EQ(writer.predecessor_released(), "list @a");
}

TEST(AcquireWatches, WriterReleases_ReadersAndWritersAreGranted) {
  for (const QueueRule& rule : {QueueRule::reader(), QueueRule::writer()}) {
    const std::string name = ZnodeName::make(rule.prefix(), {5}).text;
    Steps steps = listing_as(name, {.rule = rule});
    EXPECT_EQ(steps.listed({"__READ__0000000001", "__WRIT__0000000002", name}),
              "watch __WRIT__0000000002 @a");
    steps.watched(data_of("other"));
    EXPECT_EQ(steps.predecessor_released(), "grant @a");
  }
}

// Without a list, the contenders ahead of it and their kinds are unknown.
TEST(AcquireWatches, OtherThanMutex_DoesNotPredict) {
  for (const QueueRule& rule :
       {QueueRule::reader(), QueueRule::writer(), QueueRule::permits(1, 2, false)}) {
    Steps steps({.rule = rule});
    steps.start();
    steps.created_as(ZnodeName::make(rule.prefix(), {5}).text);
    EXPECT_EQ(steps.counted(2), "list @a");
  }
}

// ---- the number of permits ----------------------------------------------------------------------

TEST(AcquirePermits, AnotherCountAhead_FailsAsMismatched) {
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
    EXPECT_TRUE(steps.fsm().has_ended());
  }
}

}  // namespace
}  // namespace zklock::core::acquire_test::watches
