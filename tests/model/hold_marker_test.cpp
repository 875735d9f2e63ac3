// SPDX-License-Identifier: Apache-2.0
// The hold markers of long holds: their requests, the other contenders, the release, and their time.
#include "zklock/core/hold_marker.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/cohort_fixture.h"
#include "tests/model/downgrade_fixture.h"
#include "tests/model/path_lock_fixture.h"
#include "tests/model/same_name_fixture.h"
#include "zklock/core/znode_name.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

/// A hold is marked at the first tick after half a session timeout, which is 3 s.
inline constexpr Duration kShortHold = 2900ms;
inline constexpr Duration kLongHold = 4s;

/// Adds queries of the markers to a fixture.
template <class Fixture>
class WithMarkers : public Fixture {
 protected:
  core::HoldMarker marker() {
    const auto names = this->lock_.hold_markers();
    EXPECT_EQ(names.size(), 1U);
    return names.empty() ? core::HoldMarker{} : core::HoldMarker::parse(names.front()).value();
  }
  /// Holds until the hold is marked.
  std::size_t marked(std::size_t client, const LockWorld::Request& request = {}) {
    const auto call = this->granted(client, request);
    this->run_for(kLongHold);
    EXPECT_EQ(this->lock_.hold_markers().size(), 1U);
    return call;
  }
  /// Client 0 holds until the create of the marker is sent. Its network then carries nothing.
  std::size_t marking() {
    const auto call = this->granted(0);
    this->run_for(kShortHold);
    this->client(0).cut_off();
    this->run_for(500ms);
    EXPECT_EQ(this->client(0).requests(OperationKind::transaction), 1U);
    EXPECT_TRUE(this->lock_.hold_markers().empty());
    return call;
  }
  std::int64_t created_ms(std::size_t call) {
    return this->ensemble().find(this->lock_.call(call).node)->created_ms;
  }
  /// Returns the time by the ensemble's clock.
  std::int64_t now_ms() {
    const std::string node = "/time" + std::to_string(++times_);
    EXPECT_EQ(this->ensemble().create(node), Status::ok);
    return this->ensemble().find(node)->created_ms;
  }
  void expect_no_markers() { EXPECT_TRUE(this->lock_.hold_markers().empty()); }

 private:
  int times_ = 0;
};

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

// ---- a cohort ------------------------------------------------------------------------------------

using MarkedCohort = WithMarkers<CohortFixture>;

TEST_F(MarkedCohort, MarkerDeletedByHand_OtherClientIsServed) {
  const auto four = on({.batch = 4});
  auto holder = marked(0, four);
  ASSERT_EQ(ensemble().remove(child(marker().name())), Status::ok);
  const auto outside = waiting(1);
  const auto rest = several_wait(0, four, 12);
  std::size_t released = 0;
  while (!is_granted(outside) && released < rest.size()) {
    release(holder);
    holder = rest[released++];
  }
  EXPECT_TRUE(is_granted(outside));
  EXPECT_EQ(released, 4U) << "a batch";
  release(outside);
  release_as_granted(rest);
  expect_rest();
}

// ---- the time of the grant -----------------------------------------------------------------------

class HoldMarkerTime : public WithMarkers<PathLockTest> {
 protected:
  /// Reconnects, which grants the lock. Expects that time in the marker.
  void expect_marked_with_time_of_grant(std::size_t call) {
    const auto time = now_ms();
    lock_.world().reconnect(0);
    run();
    ASSERT_TRUE(is_granted(call));
    run_for(kLongHold);
    EXPECT_EQ(marker().since_ms, time);
    release(call);
    expect_rest();
  }
};

TEST_F(HoldMarkerTime, ConnectionLater_TimeIsOfTheGrant) {
  lock_.world().disconnect(0);
  run();
  const auto call = lock_.acquire(0);
  run_for(2s);
  expect_marked_with_time_of_grant(call);
}

TEST_F(HoldMarkerTime, CreateReplyLost_TimeIsOfTheGrant) {
  lock_.world().lose_reply(0, Kind::create_contender);
  const auto call = lock_.acquire(0);
  run_for(1s);
  expect_marked_with_time_of_grant(call);
}

TEST_F(HoldMarkerTime, MoveReplyLost_TimeIsOfTheGrant) {
  const auto holder = granted(1);
  const auto call = waiting(0, LockWorld::at_gate(5));
  run_for(2s);
  lock_.world().lose_reply(0, Kind::transaction);
  release(holder);
  run_for(1s);
  expect_marked_with_time_of_grant(call);
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
  const auto other = granted_in_later_path(1);
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
