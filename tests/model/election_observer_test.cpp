// SPDX-License-Identifier: Apache-2.0
// Observers of an election: which leader they report, and how often they list the queue.
#include <string>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/lock_world.h"
#include "zklock/core/proclamation.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

TEST(ElectionModel, NewSessionOnLaggingServer_LeaderIsObserved) {
  Polls polls;
  polls.proclaim(polls.leadership(0), "a");
  polls.world().run_for(30s);  // no more heartbeats, which would catch up
  polls.world().client(Polls::kObserver).lag();
  polls.world().expire(0);
  polls.world().run_for(1s);
  polls.proclaim(polls.leadership(1), "b");
  polls.world().run_for(1s);
  ASSERT_EQ(polls.view().proclaimed, "a") << "its server lags";
  polls.world().expire(Polls::kObserver);
  polls.world().disconnect(Polls::kObserver);
  for (int i = 0; i < 3; ++i) {  // for the session's end, then a new session
    polls.world().reconnect(Polls::kObserver);
    polls.world().run_for(1s);
  }
  EXPECT_EQ(polls.leader_in_view(), polls.leadership(1).token());
  EXPECT_EQ(polls.view().proclaimed, "b");
}

// A recreated path reuses names. That can happen between a list and the reads of its znodes.
TEST(ElectionModel, ListedNameReused_IsNotMistakenForLeader) {
  Polls polls;
  polls.world().run_for(1s);
  polls.observer->stop();
  polls.views.clear();
  const std::string listed = polls.leadership(0).node();
  SimCoordinator& client = polls.world().client(Polls::kObserver);
  client.reset_counts();
  polls.observe();
  for (int i = 0; i < 50 && client.requests(Kind::get) == 0; ++i) {
    polls.world().run(polls.world().steps().front());
  }
  ASSERT_EQ(polls.ensemble().remove(listed), Status::ok);
  const std::string first =
      LockWorld::path +
      ("/" + core::ZnodeName::make("_c_8a7d6c1e-0f3b-4a2f-9d55-3f2a2b1c0d9e-lock-", {0}).text);
  ASSERT_EQ(polls.ensemble().create(first), Status::ok);
  ASSERT_EQ(polls.ensemble().create(listed), Status::ok);
  const FencingToken newer{polls.ensemble().find(listed)->czxid};
  polls.world().run_for(1s);
  ASSERT_FALSE(polls.views.empty());
  for (const QueueView& view : polls.views) EXPECT_NE(view.holders.front().token, newer);
  EXPECT_EQ(polls.leader_in_view(), FencingToken{polls.ensemble().find(first)->czxid});
  EXPECT_EQ(polls.violation, "");
  for (const std::string& node : {listed, first}) {
    ASSERT_EQ(polls.ensemble().remove(node), Status::ok);
  }
  polls.world().run_for(1s);
}

TEST(ElectionModel, LaggingServer_FirstViewIsNotStale) {
  Polls polls;
  polls.proclaim(polls.leadership(0), "a");
  polls.world().run_for(30s);  // no more heartbeats, which would catch up
  polls.world().client(Polls::kObserver).lag();
  polls.proclaim(polls.leadership(0), "b");
  polls.world().run_for(1s);
  polls.observer->stop();
  polls.views.clear();
  polls.observe();
  polls.world().run_for(1s);
  ASSERT_EQ(polls.views.size(), 1U);
  EXPECT_EQ(polls.view().proclaimed, "b");
}

TEST(ElectionModel, ContenderBehindLeader_CausesNoEvent) {
  Polls polls;
  const auto call = polls.lock.acquire(0);
  polls.world().run_for(1s);
  polls.lock.cancel(call);
  polls.world().run_for(1s);
  EXPECT_EQ(polls.views.size(), 1U);
}

TEST(ElectionModel, ChangeAfterIdleTime_IsReportedAtOnce) {
  Polls polls(Sight::lock);
  polls.world().run_for(1s);
  const Instant before = polls.world().now();
  const auto name = polls.ensemble().create_sequential(LockWorld::path, "lock-");
  ASSERT_TRUE(name);
  polls.world().run_all();
  EXPECT_EQ(polls.world().now(), before);
  EXPECT_EQ(polls.view().waiting, 2U);
}

TEST(ElectionModel, ManyChanges_AtMostFiftyListsPerSecond) {
  for (const Sight sight : {Sight::lock, Sight::leadership}) {
    Polls polls(sight);
    polls.world().run_for(1s);
    SimCoordinator& observer = polls.world().client(Polls::kObserver);
    observer.reset_counts();
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(polls.ensemble().create_sequential(LockWorld::path, "lock-"));
      polls.world().run_for(1ms);
    }
    EXPECT_GE(observer.requests(Kind::list_and_watch), 49U);
    EXPECT_LE(observer.requests(Kind::list_and_watch), 51U);
    EXPECT_EQ(observer.requests(Kind::get), observer.requests(Kind::list_and_watch));
    polls.world().run_for(1s);
    if (sight == Sight::lock) {
      EXPECT_EQ(polls.view().waiting, 1001U);
    }
    EXPECT_LE(observer.requests(Kind::list_and_watch), 51U) << "and at rest not at all";
  }
}

}  // namespace
}  // namespace zklock::model
