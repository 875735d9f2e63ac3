// SPDX-License-Identifier: Apache-2.0
// Observers of an election: which leader they report, and how often they list the queue.
#include <string>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/lock_world.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

TEST(ElectionModel, NewSessionOnLaggingServer_LeaderIsObserved) {
  ElectionWorld election;
  election.proclaim(election.leadership(0), "a");
  SimCoordinator& client = election.world().client(ElectionWorld::kObserver);
  election.world().run_for(30s);
  // A sync would catch up. The next one is 7/24 of a session timeout later.
  for (client.reset_counts(); client.requests(Kind::sync) == 0;) election.world().run_for(10ms);
  election.world().client(ElectionWorld::kObserver).lag();
  election.world().expire(0);
  election.world().run_for(500ms);
  election.proclaim(election.leadership(1), "b");
  election.world().run_for(500ms);
  ASSERT_EQ(election.view().proclaimed, "a") << "its server lags";
  election.world().expire(ElectionWorld::kObserver);
  election.world().disconnect(ElectionWorld::kObserver);
  for (int i = 0; i < 3; ++i) {  // for the session's end, then a new session
    election.world().reconnect(ElectionWorld::kObserver);
    election.world().run_for(1s);
  }
  EXPECT_EQ(election.leader_in_view(), election.leadership(1).token());
  EXPECT_EQ(election.view().proclaimed, "b");
}

// A recreated path reuses names. That can happen between a list and the reads of its znodes.
TEST(ElectionModel, ListedNameReused_IsNotMistakenForLeader) {
  ElectionWorld election;
  election.world().run_for(1s);
  election.observer->stop();
  election.views.clear();
  const std::string listed = election.leadership(0).node();
  SimCoordinator& client = election.world().client(ElectionWorld::kObserver);
  client.reset_counts();
  election.observe();
  for (int i = 0; i < 50 && client.requests(Kind::get) == 0; ++i) {
    election.world().run(election.world().steps().front());
  }
  ASSERT_EQ(election.ensemble().remove(listed), Status::ok);
  const std::string first =
      LockWorld::kPath +
      ("/" + core::ZnodeName::make("_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-", {0}).text);
  ASSERT_EQ(election.ensemble().create(first), Status::ok);
  ASSERT_EQ(election.ensemble().create(listed), Status::ok);
  const FencingToken newer{election.ensemble().find(listed)->czxid};
  election.world().run_for(1s);
  ASSERT_FALSE(election.views.empty());
  for (const QueueView& view : election.views) EXPECT_NE(view.lock.holders.front().token, newer);
  EXPECT_EQ(election.leader_in_view(), FencingToken{election.ensemble().find(first)->czxid});
  EXPECT_EQ(election.violation, "");
  for (const std::string& node : {listed, first}) {
    ASSERT_EQ(election.ensemble().remove(node), Status::ok);
  }
  election.world().run_for(1s);
}

TEST(ElectionModel, LaggingServer_FirstViewIsNotStale) {
  ElectionWorld election;
  election.proclaim(election.leadership(0), "a");
  election.world().run_for(30s);  // no more heartbeats, which would catch up
  election.world().client(ElectionWorld::kObserver).lag();
  election.proclaim(election.leadership(0), "b");
  election.world().run_for(1s);
  election.observer->stop();
  election.views.clear();
  election.observe();
  election.world().run_for(1s);
  ASSERT_EQ(election.views.size(), 1U);
  EXPECT_EQ(election.view().proclaimed, "b");
}

TEST(ElectionModel, ChangeAfterIdleTime_IsReportedAtOnce) {
  ElectionWorld election(ViewScope::all_holders());
  election.world().run_for(1s);
  const Instant before = election.world().now();
  const auto name = election.ensemble().create_sequential(LockWorld::kPath, "lock-");
  ASSERT_TRUE(name);
  election.world().run_all();
  EXPECT_EQ(election.world().now(), before);
  EXPECT_EQ(election.view().lock.waiting, 2U);
}

TEST(ElectionModel, ManyChanges_AtMostFiftyListsPerSecond) {
  for (const ViewScope scope : {ViewScope::all_holders(), ViewScope::leadership()}) {
    ElectionWorld election(scope);
    election.world().run_for(1s);
    SimCoordinator& observer = election.world().client(ElectionWorld::kObserver);
    observer.reset_counts();
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(election.ensemble().create_sequential(LockWorld::kPath, "lock-"));
      election.world().run_for(1ms);
    }
    EXPECT_GE(observer.requests(Kind::list_and_watch), 49U);
    EXPECT_LE(observer.requests(Kind::list_and_watch), 51U);
    EXPECT_EQ(observer.requests(Kind::get), observer.requests(Kind::list_and_watch));
    election.world().run_for(500ms);
    if (!scope.is_leadership) {
      EXPECT_EQ(election.view().lock.waiting, 1001U);
    }
    EXPECT_LE(observer.requests(Kind::list_and_watch), 51U) << "and at rest not at all";
  }
}

}  // namespace
}  // namespace zklock::model
