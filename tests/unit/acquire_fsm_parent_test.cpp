// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "acquire_steps.h"

// The lock's path can be deleted and recreated while contenders use it. The sequence numbers then
// restart, and other clients' znodes get the old names. The zxids show that.
namespace zklock::core::acquire_test {
namespace {

constexpr FencingToken kOlder{kTokenOfCreate - 1};
constexpr FencingToken kYounger{kTokenOfCreate + 1};

/// Returns a machine whose znode has number 5, and that knows no other contender.
AcquireFsm created(AcquireFsm::Policy policy = {}) {
  AcquireFsm fsm("id", 1, policy);
  fsm.start();
  fsm.on_created({Status::ok, kSessionA, node(5), {kTokenOfCreate}, ""}, true);
  return fsm;
}

AcquireFsm listing_fsm(AcquireFsm::Policy policy = {}) {
  AcquireFsm fsm = created(policy);
  fsm.on_counted({Status::server_error, kSessionA, {}, 0}, true);
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

TEST(AcquireFsmParent, ParentNewerThanNode_NodeCountsAsDeleted) {
  AcquireFsm first = listing_fsm();
  EXPECT_EQ(describe(first.on_listed({Status::ok, kYounger, Children{node(5)}, ""}, true)),
            "create id1.2");
  AcquireFsm impatient = listing_fsm({.queue_again = false});
  EXPECT_EQ(describe(impatient.on_listed({Status::ok, kYounger, Children{node(5)}, ""}, true)),
            node_deleted(node(5)));
}

TEST(AcquireFsmParent, PredecessorNewerThanOwnNode_ListsAgain) {
  for (const bool stranger : {false, true}) {
    AcquireFsm fsm = created();
    EXPECT_EQ(describe(fsm.on_counted({Status::ok, kSessionA, kOlder, 2}, true)),
              "watch " + node(4) + " @a");
    const auto effects = describe(
        fsm.on_watched(node(4), {Status::ok, stranger ? kYounger : kOlder, data_of("other"), ""}));
    EXPECT_EQ(effects, stranger ? "unwatch, list @a" : "");
  }
}

// The znode was created by hand in the path of the contender's znode. The contender waits for it,
// and does not take a write of it for a release.
TEST(AcquireFsmParent, NewerPredecessorListedAgain_IsWaitedFor) {
  const Children queue{node(4), node(5)};
  const std::string data = data_of("other");
  const WatchedAnswer made{Status::ok, kYounger, data, ""};
  AcquireFsm fsm = listing_fsm();
  EXPECT_EQ(describe(fsm.on_listed({Status::ok, kOlder, queue, ""}, true)),
            "watch " + node(4) + " @a");
  EXPECT_EQ(describe(fsm.on_watched(node(4), made)), "unwatch, list @a");
  EXPECT_EQ(describe(fsm.on_listed({Status::ok, kOlder, queue, ""}, true)),
            "watch " + node(4) + " @a");
  EXPECT_EQ(describe(fsm.on_watched(node(4), made)), "");
  EXPECT_EQ(fsm.state(), State::waiting);
  EXPECT_EQ(describe(fsm.on_predecessor_released(node(4), true)), "list @a");
  // A third znode of that name is checked by a list again.
  EXPECT_EQ(describe(fsm.on_listed({Status::ok, kOlder, queue, ""}, true)),
            "watch " + node(4) + " @a");
  const WatchedAnswer another{Status::ok, {kYounger.zxid + 1}, data, ""};
  EXPECT_EQ(describe(fsm.on_watched(node(4), another)), "unwatch, list @a");
}

TEST(AcquireFsmParent, ParentRecreated_CreatesAgain) {
  const Children queue{node(4), node(5)};
  AcquireFsm fsm = listing_fsm();
  fsm.on_listed({Status::ok, kOlder, queue, ""}, true);
  EXPECT_EQ(describe(fsm.on_watched(node(4), {Status::ok, kYounger, data_of("other"), ""})),
            "unwatch, list @a");
  EXPECT_EQ(describe(fsm.on_listed({Status::ok, kYounger, queue, ""}, true)), "create id1.2");
}

// The token of the holder's grant decides, and not the czxid of its present znode.
TEST(AcquireFsmParent, HolderChangedItsNode_ItsTokenDecides) {
  const std::string reader = ZnodeName::make(kReadPrefix, {4}).text;
  for (const FencingToken came : {kOlder, kYounger}) {
    AcquireFsm fsm("id", 1, {.rule = QueueRule::writer()});
    fsm.start();
    const std::string own = ZnodeName::make(kWritePrefix, {5}).text;
    fsm.on_created({Status::ok, kSessionA, own, {kTokenOfCreate}, ""}, true);
    fsm.on_counted({Status::ok, kSessionA, kOlder, 2}, true);
    EXPECT_EQ(describe(fsm.on_listed({Status::ok, kOlder, Children{reader, own}, ""}, true)),
              "watch " + reader + " @a");
    ZnodeData data;
    data.token = came.zxid;
    EXPECT_EQ(describe(fsm.on_watched(reader, {Status::ok, kYounger, data.encode(), ""})),
              came == kOlder ? "" : "unwatch, list @a");
  }
}

TEST(AcquireFsmParent, HeavierLaterContender_IsWaitedFor) {
  const AcquireFsm::Policy policy{.gate = QueueRule::weighted(1, 0)};
  AcquireFsm fsm("id", 1, policy);
  const std::string own = ZnodeName::make(weight_prefix(1, 0), {5}).text;
  const std::string heavier = ZnodeName::make(weight_prefix(9, 0), {6}).text;
  fsm.start();
  fsm.on_created({Status::ok, kSessionA, own, {kTokenOfCreate}, ""}, true);
  fsm.on_counted({Status::ok, kSessionA, kOlder, 2}, true);
  EXPECT_EQ(describe(fsm.on_listed({Status::ok, kOlder, Children{own, heavier}, ""}, true)),
            "watch " + heavier + " @a");
  EXPECT_EQ(describe(fsm.on_watched(heavier, {Status::ok, kYounger, data_of("other"), ""})), "");
  EXPECT_EQ(fsm.state(), State::waiting);
}

}  // namespace
}  // namespace zklock::core::acquire_test
