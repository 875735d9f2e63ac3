// SPDX-License-Identifier: Apache-2.0
// The time in a hold marker: after waits, lost replies and downgrades. And a recreated path.
#include <cstddef>

#include <gtest/gtest.h>

#include "tests/model/downgrade_fixture.h"
#include "tests/model/hold_marker_fixture.h"
#include "tests/model/same_name_fixture.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;
using HoldMarkerTime = WithMarkers<PathLockTest>;

TEST_F(HoldMarkerTime, WaitedBefore_TimeIsOfTheGrant) {
  const auto holder = granted(0);
  const auto waiter = waiting(1);
  run_for(2s);
  const auto time = now_ms();
  release(holder);
  run_for(kLongHold);
  EXPECT_EQ(marker().since_ms, time);
  release(waiter);
  expect_rest();
}

TEST_F(HoldMarkerTime, ConnectionLater_TimeIsOfTheGrant) {
  lock_.world().disconnect(0);
  run();
  const auto call = lock_.acquire(0);
  run_for(2s);
  const auto time = now_ms();
  lock_.world().reconnect(0);
  run();
  ASSERT_TRUE(is_granted(call));
  run_for(kLongHold);
  EXPECT_EQ(marker().since_ms, time);
  release(call);
  expect_rest();
}

TEST_F(HoldMarkerTime, CreateReplyLost_TimeIsOfTheGrant) {
  lock_.world().lose_reply(0, Kind::create_contender);
  const auto call = lock_.acquire(0);
  run_for(1s);
  const auto time = now_ms();
  lock_.world().reconnect(0);
  run();
  ASSERT_TRUE(is_granted(call));
  run_for(kLongHold);
  EXPECT_EQ(marker().since_ms, time);
  EXPECT_LT(created_ms(call), time);
  release(call);
  expect_rest();
}

TEST_F(HoldMarkerTime, MoveReplyLost_TimeIsOfTheGrant) {
  const auto holder = granted(1);
  const auto call = waiting(0, LockWorld::at_gate(5));
  run_for(2s);
  lock_.world().lose_reply(0, Kind::transaction);
  release(holder);
  run_for(1s);
  const auto time = now_ms();
  lock_.world().reconnect(0);
  run();
  ASSERT_TRUE(is_granted(call));
  run_for(kLongHold);
  EXPECT_EQ(marker().since_ms, time);
  release(call);
  expect_rest();
}

// ---- a downgrade -------------------------------------------------------------------------------

using HoldMarkerOfDowngrade = WithMarkers<DowngradeTest>;

TEST_F(HoldMarkerOfDowngrade, MarkedWriter_KeepsItsMarker) {
  const auto created = created_ms(writes_);
  run_for(kLongHold);
  EXPECT_EQ(marker().since_ms, created);
  downgraded();
  run_for(10s);
  EXPECT_EQ(marker().since_ms, created);
  EXPECT_EQ(hold().state(), HoldState::held);
  release(reads_);
  EXPECT_TRUE(lock_.nodes().empty());
  expect_rest();
}

TEST_F(HoldMarkerOfDowngrade, Reader_TimeIsOfTheWriterGrant) {
  const auto created = created_ms(writes_);
  run_for(1s);
  downgraded();
  run_for(kLongHold);
  EXPECT_EQ(marker().since_ms, created);
  release(reads_);
  expect_rest();
}

// ---- a recreated path --------------------------------------------------------------------------

using HoldMarkerSameName = WithMarkers<SameNameTest>;

// The create of the marker finds another contender's znode of the expected name.
TEST_F(HoldMarkerSameName, PathRecreated_MarkerIsDeleted) {
  const auto old = marking();
  remove_path();
  const auto other = lock_.acquire(1);
  run_only(1, [&] { return is_granted(other); });
  ASSERT_EQ(lock_.call(other).node, lock_.call(old).node);
  client(0).mend();
  run_only(0, [&] { return !lock_.hold_markers().empty(); });
  EXPECT_EQ(lock_.hold_markers().size(), 1U);
  run();
  EXPECT_EQ(lock_.call(old).hold.state(), HoldState::lost);
  expect_no_markers();
  EXPECT_EQ(lock_.call(other).hold.state(), HoldState::held);
  release(old);
  release(other);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
