// SPDX-License-Identifier: Apache-2.0
// The hold markers of long holds: their requests, other contenders, the release, and their time.
#include "zklock/core/hold_marker.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/cohort_fixture.h"
#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

/// A hold is marked at the first tick after half a session timeout, which is 3 s.
inline constexpr Duration kShortHold = 2900ms;
inline constexpr Duration kLongHold = 4s;

class HoldMarkerTest : public CohortTest {
 protected:
  core::HoldMarker marker() {
    const auto names = lock_.hold_markers();
    EXPECT_EQ(names.size(), 1U);
    return names.empty() ? core::HoldMarker{} : core::HoldMarker::parse(names.front()).value();
  }
  /// Holds until the hold is marked.
  std::size_t marked(std::size_t client, const Request& request = {}) {
    const auto call = granted(client, request);
    run_for(kLongHold);
    EXPECT_EQ(lock_.hold_markers().size(), 1U);
    return call;
  }
  std::int64_t created_ms(const std::string& node) { return ensemble().find(node)->created_ms; }
  /// Reconnects, which grants the lock. Expects that time in the marker.
  void expect_marked_with_time_of_grant(std::size_t call) {
    ASSERT_EQ(ensemble().create("/time"), Status::ok);
    reconnect(0);
    ASSERT_TRUE(is_granted(call));
    run_for(kLongHold);
    EXPECT_EQ(marker().since_ms, created_ms("/time"));
    ASSERT_EQ(ensemble().remove("/time"), Status::ok);
  }
};

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
}

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
}

TEST_F(HoldMarkerTest, Release_DeletesBothInOneTransaction) {
  const auto call = marked(0);
  reset_counts();
  lock_.release(call);
  while (!lock_.nodes().empty()) ASSERT_TRUE(step());
  EXPECT_TRUE(lock_.hold_markers().empty());
  run();
  EXPECT_EQ(client(0).requests(), 1U);
  EXPECT_EQ(client(0).requests(Kind::transaction), 1U);
}

TEST_F(HoldMarkerTest, ReleaseBeforeFailedReply_IsNotDelayed) {
  const auto call = granted(0);
  run_for(kShortHold);
  client(0).cut_off();
  run_for(500ms);  // the create of the marker is sent
  const auto waiter = waiting(1);
  client(0).fail_next(Kind::transaction, Status::quota_exceeded);
  release_node(call);
  client(0).mend();
  run();
  EXPECT_TRUE(is_granted(waiter));
  EXPECT_EQ(client(0).requests(Kind::announce_and_delete), 1U);
  EXPECT_EQ(client(0).requests(Kind::transaction), 1U) << "only the marker's create has failed";
}

TEST_F(HoldMarkerTest, MarkerDeletedByHand_OtherClientIsServed) {
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
}

TEST_F(HoldMarkerTest, ConnectionLater_TimeIsOfTheGrant) {
  for (const bool is_reply_lost : {false, true}) {
    is_reply_lost ? world().lose_reply(0, Kind::create_contender) : world().disconnect(0);
    const auto call = lock_.acquire(0);
    run_for(2s);
    expect_marked_with_time_of_grant(call);
    finish();
  }
}

TEST_F(HoldMarkerTest, MoveReplyLost_TimeIsOfTheGrant) {
  const auto holder = granted(1);
  const auto call = waiting(0, LockWorld::at_gate(5));
  run_for(2s);
  lock_.world().lose_reply(0, Kind::transaction);
  release(holder);
  run_for(1s);
  expect_marked_with_time_of_grant(call);
}

TEST_F(HoldMarkerTest, Downgrade_MarkerHasTimeOfWriterGrant) {
  for (const bool is_marked_before : {true, false}) {
    const Owner owner = Owner::unique();
    const auto writes = granted(0, LockWorld::to_write(owner));
    const auto reads = granted(0, LockWorld::to_read(owner));
    const auto created = created_ms(lock_.call(writes).node);
    run_for(is_marked_before ? kLongHold : 1s);
    EXPECT_EQ(lock_.hold_markers().size(), is_marked_before ? 1U : 0U);
    release(writes);
    ASSERT_TRUE(lock_.nodes().at(0).starts_with("__READ__"));
    run_for(10s);
    EXPECT_EQ(marker().since_ms, created);
    EXPECT_EQ(lock_.call(reads).hold.state(), HoldState::held);
    finish();
  }
}

}  // namespace
}  // namespace zklock::model
