// SPDX-License-Identifier: Apache-2.0
// The hold markers of long holds: their requests, the other contenders, and the release.
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/hold_marker_fixture.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;
using HoldMarkerTest = WithMarkers<PathLockTest>;

TEST_F(HoldMarkerTest, LongHold_SendsOneRequest) {
  const auto call = marked(0);
  run_for(20s);
  EXPECT_EQ(client(0).requests(Kind::transaction), 1U);
  EXPECT_EQ(marker().since_ms, created_ms(call));
  EXPECT_EQ(marker().owner_sequence, core::ZnodeName::parse(lock_.nodes().at(0))->sequence);
  EXPECT_EQ(lock_.call(call).hold.state(), HoldState::held);
  release(call);
  expect_rest();
}

TEST_F(HoldMarkerTest, ManyHolds_AreSpreadOverTicks) {
  constexpr std::size_t kHolds = 600;
  for (std::size_t i = 0; i < kHolds; ++i) lock_.acquire(0, LockWorld::permits(1, 1'000));
  run();
  ASSERT_EQ(lock_.held(), kHolds);
  lock_.world().run_for(kShortHold);
  EXPECT_EQ(client(0).requests(Kind::transaction), 0U);
  while (client(0).requests(Kind::transaction) == 0) lock_.world().run_for(100ms);
  EXPECT_EQ(client(0).requests(Kind::transaction), 500U);
  lock_.world().run_for(1s);
  EXPECT_EQ(client(0).requests(Kind::transaction), kHolds);
  EXPECT_EQ(lock_.hold_markers().size(), kHolds);
  for (std::size_t call = 0; call < lock_.calls(); ++call) lock_.release(call);
  expect_rest();
}

// ---- the other contenders ----------------------------------------------------------------------

TEST_F(HoldMarkerTest, Waiter_IsNotGrantedByTheMarker) {
  const auto holder = granted(0);
  const auto waiter = waiting(1);
  reset_counts();
  run_for(kLongHold);
  ASSERT_EQ(lock_.hold_markers().size(), 1U);
  run_for(5s);
  EXPECT_EQ(lock_.call(waiter).outcomes, 0);
  release(holder);
  EXPECT_TRUE(is_granted(waiter));
  EXPECT_EQ(client(1).requests(Kind::list_children), 0U) << "the announcement is believed";
  release(waiter);
  expect_rest();
}

// ---- the release -------------------------------------------------------------------------------

TEST_F(HoldMarkerTest, Release_DeletesBothInOneTransaction) {
  const auto call = marked(0);
  reset_counts();
  lock_.release(call);
  while (!lock_.nodes().empty()) ASSERT_TRUE(step());
  expect_no_markers();
  run();
  EXPECT_EQ(client(0).requests(), 1U);
  EXPECT_EQ(client(0).requests(Kind::transaction), 1U);
  expect_rest();
}

TEST_F(HoldMarkerTest, ReleaseBeforeFailedReply_IsNotDelayed) {
  const auto call = marking();
  const auto waiter = waiting(1);
  client(0).fail_next(Kind::transaction, Status::quota_exceeded);
  release_node(call);
  client(0).mend();
  run();
  EXPECT_TRUE(is_granted(waiter));
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
  EXPECT_EQ(client(0).requests(Kind::transaction), 1U) << "only the marker's create has failed";
  release(waiter);
  expect_rest();
}

TEST_F(HoldMarkerTest, Refused_IsNeitherRepeatedNorDeleted) {
  client(0).fail_next(Kind::transaction, Status::quota_exceeded);
  const auto call = granted(0);
  run_for(10s);
  EXPECT_EQ(client(0).requests(Kind::transaction), 1U);
  expect_no_markers();
  reset_counts();
  release(call);
  EXPECT_EQ(client(0).requests(), 1U);
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
  expect_rest();
}

TEST_F(HoldMarkerTest, DisconnectedAtItsAge_IsMarkedLater) {
  const auto call = granted(0);
  const auto created = created_ms(call);
  run_for(kShortHold);
  lock_.world().disconnect(0);
  run_for(500ms);
  lock_.world().reconnect(0);
  run_for(1s);
  EXPECT_EQ(marker().since_ms, created);
  release(call);
  expect_rest();
}

TEST_F(HoldMarkerTest, EachLoss_MarkerIsDeleted) {
  const auto lease_ends = [&](std::size_t) {
    client(0).cut_off();
    run_for(5s);
    client(0).mend();
  };
  const std::function<void(std::size_t)> losses[] = {
      lease_ends, [&](std::size_t) { lock_.world().expire(0); },
      [&](std::size_t call) { ensemble().remove(lock_.call(call).node); }};
  for (const auto& happens : losses) {
    const auto call = marked(0);
    happens(call);
    run_for(2s);
    EXPECT_EQ(lock_.call(call).hold.state(), HoldState::lost);
    EXPECT_TRUE(lock_.nodes().empty());
    expect_no_markers();
    lock_.world().reconnect(0);
    release(call);
    expect_rest();
  }
}

TEST_F(HoldMarkerTest, MarkerDeletedByHand_ReleaseSucceeds) {
  const auto call = marked(0);
  const auto waiter = waiting(1);
  const std::string node = child(lock_.hold_markers().at(0));
  ASSERT_EQ(ensemble().remove(node), Status::ok);
  release(call);
  EXPECT_TRUE(is_granted(waiter));
  release(waiter);
  expect_rest();
}

TEST_F(HoldMarkerTest, RetainedIdle_IsMarkedOnceAndServesOn) {
  const auto kept = [] { return LockWorld::Request{.local = {.batch = 1, .keep_idle_for = 10s}}; };
  lock_.use(0);
  const auto first = granted(0, kept());
  release(first);
  run_for(5s);
  EXPECT_EQ(lock_.hold_markers().size(), 1U);
  const auto second = granted(0, kept());
  EXPECT_EQ(lock_.call(second).node, lock_.call(first).node);
  release(second);
  run_for(11s);
  EXPECT_TRUE(lock_.nodes().empty());
  lock_.end_use(0);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
