// SPDX-License-Identifier: Apache-2.0
// The search for the znode of a lost reply; paths that are deleted and recreated; and the sequence
// counter of a path.
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "acquire_steps.h"
#include "zklock/core/lock_delay.h"

namespace zklock::core::acquire_test::recovery {
namespace {

const std::string kOwn = node(5);
constexpr std::int32_t kEnd = kFirstUnusableSequence.value;
const std::string kLeft = DelayMarker::make(std::chrono::seconds(7), {70}, {4}).name;

// ---- the lost reply to a create -----------------------------------------------------------------

TEST(AcquireRecovery, CreateReplyLost_ProvesQuorumThenListsThenReads) {
  Steps steps = steps_in(State::enqueuing);
  EXPECT_EQ(steps.answer(Status::unknown), "check_path @a");
  EXPECT_EQ(steps.done(Status::ok, false), "list @a");
  EXPECT_EQ(steps.listed({node(4), kOwn}), "inspect lock-0000000005 @a");
  EXPECT_EQ(steps.inspected(data_of("id1.1")), "list @a");
  EXPECT_EQ(steps.fsm().node().name(), kOwn);
  EXPECT_EQ(steps.fsm().node().token().zxid, kTokenOfInspection);
  EXPECT_EQ(steps.fsm().node().session(), kSessionA);
  EXPECT_EQ(steps.listed({node(4), kOwn}), "watch lock-0000000004 @a");
}

TEST(AcquireRecovery, NodeOfAnotherAttempt_IsNotAdopted) {
  for (const std::string& data : {data_of("id1.2"), data_of("id1.11"), data_of("id2.1"),
                                  data_of(""), std::string("id1.1"), std::string(kReleasedData)}) {
    Steps steps = steps_in(State::inspecting);
    EXPECT_EQ(steps.inspected(data), "inspect lock-0000000004 @a") << data;
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

TEST(AcquireRecovery, SeveralCandidates_NewestOfOwnKindIsInspectedFirst) {
  Steps steps = steps_in(State::recovering);
  EXPECT_EQ(steps.listed({node(12), node(100), node(20), "config",
                          "_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-0000000200"}),
            "inspect " + node(100) + " @a");
  EXPECT_EQ(steps.inspected(data_of("other.1")), "inspect " + node(20) + " @a");
  EXPECT_EQ(steps.inspected(Status::no_node), "inspect " + node(12) + " @a");
  EXPECT_EQ(steps.inspected(Status::no_auth), "remove_late_create id1.1 @a, create id1.2");
}

// The caller gets the failure immediately. The search continues until the znode's fate is known.
TEST(AcquireRecovery, SearchFails_ReportsOnceAndContinues) {
  Steps steps = steps_in(State::recovering);
  EXPECT_EQ(steps.answer(Status::no_auth), failure(Errc::no_auth) + ", pause");
  EXPECT_EQ(steps.resume(), "list @a");
  EXPECT_EQ(steps.answer(Status::server_error), "pause") << "reported once";
  EXPECT_EQ(steps.withdraw(), "");
  EXPECT_EQ(steps.resume(), "list @a");
  EXPECT_EQ(steps.listed({kOwn}), "inspect lock-0000000005 @a");
  EXPECT_EQ(steps.inspected(data_of("id1.1")), "remove_node lock-0000000005 @a");
}

// ---- a recreated path: its sequence numbers restart, and other znodes get the old names ---------

constexpr FencingToken kOlder{kTokenOfCreate - 1};
constexpr FencingToken kYounger{kTokenOfCreate + 1};

/// Returns a machine whose znode has number 5, and that knows no other contender.
AcquireFsm created(const QueueRule& rule = QueueRule::mutex()) {
  AcquireFsm fsm("id", 1, {.rule = rule});
  fsm.start();
  const std::string own = ZnodeName::make(rule.prefix(), {5}).text;
  fsm.on_created({Status::ok, kSessionA, own, {kTokenOfCreate}, ""}, true);
  return fsm;
}

// A child was deleted since. It can have been a predecessor or the contender's znode.
TEST(AcquireFsmParent, ChangedSinceCreate_Lists) {
  for (const FencingToken last : {kOlder, kYounger}) {
    AcquireFsm fsm = created();
    EXPECT_EQ(describe(fsm.on_counted({Status::ok, kSessionA, last, 1}, true)), "list @a");
    EXPECT_EQ(describe(fsm.on_listed({Status::ok, kOlder, Children{node(4)}, ""}, true)),
              "create id1.2");
  }
}

// If the path is younger than the contender's znode, the znode is another's. If only the
// predecessor is younger, it was created by hand. A write of it is no release.
TEST(AcquireFsmParent, PredecessorYoungerThanOwnZnode_ListsAgainOnce) {
  const Children queue{node(4), kOwn};
  const std::string data = data_of("other");
  const WatchedAnswer younger{Status::ok, kYounger, data, ""};
  for (const FencingToken path : {kOlder, kYounger}) {
    AcquireFsm fsm = created();
    EXPECT_EQ(describe(fsm.on_counted({Status::ok, kSessionA, kOlder, 2}, true)),
              "watch " + node(4) + " @a");
    EXPECT_EQ(describe(fsm.on_watched(node(4), younger)), "unwatch, list @a");
    const auto effects = describe(fsm.on_listed({Status::ok, path, queue, ""}, true));
    EXPECT_EQ(effects, path == kOlder ? "watch " + node(4) + " @a" : "create id1.2");
    if (path == kYounger) continue;
    EXPECT_EQ(describe(fsm.on_watched(node(4), younger)), "");
    EXPECT_EQ(describe(fsm.on_predecessor_released(node(4), true)), "list @a");
  }
}

// The token of the holder's grant decides, and not the czxid of its present znode.
TEST(AcquireFsmParent, HolderChangedItsNode_ItsTokenDecides) {
  const std::string reader = ZnodeName::make(kReadPrefix, {4}).text;
  const std::string own = ZnodeName::make(kWritePrefix, {5}).text;
  for (const FencingToken came : {kOlder, kYounger}) {
    AcquireFsm fsm = created(QueueRule::writer());
    fsm.on_counted({Status::ok, kSessionA, kOlder, 2}, true);
    fsm.on_listed({Status::ok, kOlder, Children{reader, own}, ""}, true);
    ZnodeData data;
    data.token = came.zxid;
    EXPECT_EQ(describe(fsm.on_watched(reader, {Status::ok, kYounger, data.encode(), ""})),
              came == kOlder ? "" : "unwatch, list @a");
  }
}

// ---- the sequence counter -----------------------------------------------------------------------

TEST(AcquireCounterEnd, UnusableNumber_RemovesNodeAndParent) {
  Steps last = steps_in(State::enqueuing);
  last.created(kEnd - 1);
  EXPECT_EQ(last.counted(1), "grant @a") << "the last usable number";
  for (const std::string& name : {node(kEnd), node(std::numeric_limits<std::int32_t>::max()),
                                  node(-1), std::string("lock-99999999999"), std::string()}) {
    Steps steps = steps_in(State::enqueuing);
    steps.created_as(name);
    const std::string removal = name.empty() ? "remove_node" : "remove_node " + name;
    EXPECT_EQ(steps.counted(1), removal + " @a, remove_path");
    EXPECT_EQ(steps.done(Status::ok), "create id1.2");
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
  return steps;
}

/// Returns the failure of a path that cannot be recreated because it has the child.
std::string exhausted(const std::string& child) {
  return failure(Errc::sequence_exhausted,
                 "the sequence counter of the path is exhausted, and the path cannot be recreated "
                 "while it has the child \"" +
                     child + "\"; delete that child");
}

TEST(AcquireCounterEnd, ListWhileDraining_Decides) {
  constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();
  const std::string count(kCountNode);
  const std::string writer = ZnodeName::make(kWritePrefix, {4}).text;
  const std::string taken =
      failure(Errc::node_exists, "another program made the znode " + node(4) +
                                     " with the next sequence number of the path; delete that "
                                     "znode, or create and delete another child of the path");
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
      {Cause::counter_ended, {kLeft, node(7)}, kEnd, "pause", ""},
      {Cause::counter_ended, {kLeft}, kEnd, "create id1.1", "create id1.1"},  // to clear it
      {Cause::counter_ended, {node(0)}, 1, "create id1.1", "create id1.1"},
      {Cause::name_taken, {node(3), node(4)}, 4, taken, taken},
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

TEST(AcquireCounterEnd, CounterAlwaysAtItsEnd_Fails) {
  Steps steps = steps_in(State::enqueuing);
  for (int removed = 0; removed < 16; ++removed) {
    steps.created(kEnd);
    EXPECT_EQ(steps.counted(1), "remove_node " + node(kEnd) + " @a, remove_path");
    steps.done(Status::ok);
  }
  steps.created(kEnd);
  EXPECT_EQ(steps.counted(1),
            "remove_node " + node(kEnd) + " @a, " +
                failure(Errc::sequence_exhausted,
                        "the sequence counter is still exhausted after 16 attempts to recreate the "
                        "path; delete the path when no contender waits"));
}

// Since the create, the znode was deleted, another child was created, or the path was recreated.
TEST(AcquireCounterEnd, NextNameIsFreeAgain_Enqueues) {
  for (const Children& children : {Children{}, Children{node(4)}, Children{node(5), "config"}}) {
    Steps steps = steps_in(State::enqueuing);
    EXPECT_EQ(steps.answer(Status::node_exists), "list");
    EXPECT_EQ(steps.drained(children, {6}), "create id1.2");
  }
}

// No later contender would do it, because no contender of that path is granted.
TEST(AcquireCounterEnd, FirstAtTheEnd_ClearsTheMarkersAndOthersDoNot) {
  for (const std::string& prefix : {std::string(kLockPrefix), weight_prefix(5, 100)}) {
    const bool at_gate = prefix != kLockPrefix;
    const std::string last = ZnodeName::make(prefix, {kEnd}).text;
    const auto gate = at_gate ? Lazy<QueueRule>(QueueRule::weighted(5, 100)) : Lazy<QueueRule>();
    Steps steps = listing_as(last, {.gate = gate});
    EXPECT_EQ(steps.listed({kLeft, last}), "delay");
    EXPECT_EQ(steps.delay_over(), "clear " + kLeft + " @a");
    EXPECT_EQ(steps.done(Status::ok), "list @a");
    EXPECT_EQ(steps.listed({last}), "remove_node " + last + " @a, remove_path");
    EXPECT_EQ(listing_as(last, {.gate = gate}).listed({kLeft, node(5), last}),
              "remove_node " + last + " @a, remove_path");
  }
}

}  // namespace
}  // namespace zklock::core::acquire_test::recovery
