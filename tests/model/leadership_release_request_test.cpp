// SPDX-License-Identifier: Apache-2.0
// The notifications of a release request and of a forced release.
#include <string>

#include <gtest/gtest.h>

#include "tests/model/leadership_state_fixture.h"
#include "tests/model/path_lock_fixture.h"
#include "zklock/core/child_nodes.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

TEST_F(LeadershipStateTest, ReleaseRequested_NotifiesAndRetainsHold) {
  const auto call = granted(0, {.listener = listener(0)});
  run_for(2s);
  auto& ensemble = lock_.world().ensemble();
  ASSERT_EQ(ensemble.create(marker_of(call), std::string(core::kReleaseRequestAsks)), Status::ok);
  run();
  EXPECT_TRUE(lock_.call(call).hold.release_request_token().stop_requested());
  EXPECT_EQ(state(call), HoldState::held);
  ASSERT_EQ(ensemble.remove(marker_of(call)), Status::ok);
  run();
  ASSERT_EQ(ensemble.create(marker_of(call), std::string(core::kReleaseRequestAsks)), Status::ok);
  run();
  EXPECT_EQ(events_, (Events{"acquired", "release_requested", "release_requested"}));
  ASSERT_EQ(ensemble.remove(marker_of(call)), Status::ok);
  run();
  lock_.release(call);
  expect_rest();
}

TEST_F(LeadershipStateTest, ForcedRelease_NotifiesLossBeforeDelete) {
  const auto first = granted(0, {.listener = listener(0)});
  const auto second = waiting(1);
  run_for(2s);
  auto& ensemble = lock_.world().ensemble();
  ASSERT_EQ(ensemble.create(marker_of(first), std::string(core::kReleaseRequestForces)),
            Status::ok);
  for (int turn = 0; has_node(first) && turn < 1000; ++turn) {
    const bool notified = lock_.losses_notified(first) == 1;
    for (const Step& step : lock_.world().steps()) {
      lock_.world().run(step);
      ASSERT_TRUE(has_node(first) || notified);
    }
  }
  EXPECT_FALSE(has_node(first));
  ASSERT_EQ(ensemble.remove(marker_of(first)), Status::ok);
  run();
  EXPECT_EQ(events_, (Events{"acquired", "lost"}));
  EXPECT_TRUE(lock_.call(second).granted());
  lock_.release(first);
  lock_.release(second);
  expect_rest();
}

TEST_F(LeadershipStateTest, RequestThenForced_NotifiesBoth) {
  const auto call = granted(0, {.listener = listener(0)});
  run_for(2s);
  auto& ensemble = lock_.world().ensemble();
  ASSERT_EQ(ensemble.create(marker_of(call), std::string(core::kReleaseRequestAsks)), Status::ok);
  run();
  ASSERT_EQ(ensemble.set_data(marker_of(call), std::string(core::kReleaseRequestForces)),
            Status::ok);
  run();
  EXPECT_EQ(events_, (Events{"acquired", "release_requested", "lost"}));
  ASSERT_EQ(ensemble.remove(marker_of(call)), Status::ok);
  lock_.release(call);
  expect_rest();
}

TEST_F(LeadershipStateTest, ShortHold_DoesNotWatchReleaseRequests) {
  const auto call = granted(0);
  run_for(299ms);  // until its first tick
  lock_.release(call);
  run();
  EXPECT_EQ(client(0).requests(Kind::exists_and_watch), 0U);
  expect_rest();
}

}  // namespace
}  // namespace zklock::model
