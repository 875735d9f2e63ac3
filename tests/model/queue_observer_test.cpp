// SPDX-License-Identifier: Apache-2.0
// The lists and reads of observers.
#include "zklock/recipes/observe/queue_observer.h"

#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "tests/model/path_lock_fixture.h"

namespace zklock::model {
namespace {

using detail::QueueObserver;
using Kind = OperationKind;

// Client 0 contends, and client 1 observes.
class Observing : public PathLockTest {
 protected:
  Subscription listen() {
    return observer_->add([this](const QueueView& view) {
      received_.push_back(view.lock.holders.size() + view.lock.waiting);
    });
  }
  // Returns how often the observer listed the queue.
  std::size_t lists() { return client(1).requests(OperationKind::list_and_watch); }
  // Long enough for every pause. But no test lasts until a hold is marked, which is a change, too.
  void wait() { lock_.world().run_for(500ms); }
  // Adds a contender to the queue; leave() removes it.
  std::size_t enqueue() {
    const auto call = lock_.acquire(0);
    wait();
    return call;
  }
  void leave(std::size_t call) {
    lock_.release(call);
    wait();
  }

  const std::shared_ptr<QueueObserver> observer_ = std::make_shared<QueueObserver>(
      lock_.path_lock(1), detail::ViewScope::all_holders(), Executor{});
  std::vector<std::size_t> received_;  ///< the queue length of each notification

  void TearDown() override {
    observer_->stop();
    PathLockTest::TearDown();
  }
};

TEST_F(Observing, NoListener_SendsNoList) {
  leave(enqueue());
  EXPECT_EQ(lists(), 0U);
  Subscription subscription = listen();
  wait();
  const auto call = enqueue();
  EXPECT_EQ(received_, (std::vector<std::size_t>{0, 1}));
  subscription.cancel();
  leave(call);  // the remaining watch fires
  reset_counts();
  leave(enqueue());
  leave(enqueue());
  lock_.world().expire(1);
  wait();
  EXPECT_EQ(lists(), 0U);
  EXPECT_EQ(received_, (std::vector<std::size_t>{0, 1}));
}

TEST_F(Observing, NewListenerAfterPause_GetsCurrentState) {
  Subscription first = listen();
  wait();
  first.cancel();
  const auto call = enqueue();
  const auto other = enqueue();
  received_.clear();
  const Subscription second = listen();
  wait();
  EXPECT_EQ(received_, (std::vector<std::size_t>{2}));
  leave(call);
  leave(other);
  EXPECT_EQ(received_, (std::vector<std::size_t>{2, 1, 0}));
}

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
  ASSERT_TRUE(election.ensemble().create_sequential(LockWorld::kPath, "lock-"));
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
