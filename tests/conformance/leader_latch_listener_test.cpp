// SPDX-License-Identifier: Apache-2.0
// LeaderLatch: the calls of its listeners.
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/gate.h"
#include "conformance/leader_fixture.h"
#include "conformance/leader_latch_listener_fixture.h"
#include "conformance/log_capture.h"

namespace zklock::testing {
namespace {

TEST_F(LatchListener, EachLeadership_IsReportedOnceAndInOrder) {
  LeaderLatch latch(*client_, kPath);
  const auto subscription = log_.listen_to(latch);
  LeadershipLog second;
  const auto second_subscription = second.listen_to(latch);
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kTestTimeout));
  for (std::size_t lost = 0; lost < 3; ++lost) {
    // A leadership that ends before its listener was called is not reported.
    ASSERT_TRUE(log_.reaches(2 * lost + 1));
    ASSERT_TRUE(second.reaches(2 * lost + 1));
    lose_and_lead_again(*client_, latch);
  }
  ASSERT_TRUE(log_.reaches(7));
  ASSERT_TRUE(second.reaches(7));
  latch.close(CloseMode::notify);
  ASSERT_TRUE(log_.reaches(8));
  ASSERT_TRUE(second.reaches(8));
  EXPECT_TRUE(log_.is_in_order());
  EXPECT_EQ(log_.all(), second.all());
}

TEST_F(LatchListener, AddedWhileItLeads_ReceivesThatLeadershipFirst) {
  const auto latch = leading_latch(*client_);
  const auto subscription = log_.listen_to(*latch);
  ASSERT_TRUE(log_.reaches(1));
  EXPECT_EQ(log_.all(), (std::vector{LeadershipEvent{true, latch->token()}}));
  lose_and_lead_again(*client_, *latch);
  ASSERT_TRUE(log_.reaches(3));
  EXPECT_TRUE(log_.is_in_order());
}

TEST_F(LatchListener, ThrowingListener_IsLoggedAndOtherListenersRun) {
  LogCapture log;
  ClientOptions logged = options();
  logged.logger = log.logger();
  const auto client = connect(logged);
  LeaderLatch latch(*client, kPath);
  std::atomic<int> thrown{0};
  const auto throws = [&](const Leadership&) {
    if (++thrown % 2 == 0) throw 42;
    throw std::runtime_error("from a listener");
  };
  const auto bad = latch.add_listener(throws, throws);
  const auto good = log_.listen_to(latch);
  const auto neither = latch.add_listener({}, {});
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kTestTimeout));
  lose_and_lead_again(*client, latch);
  ASSERT_TRUE(log_.reaches(3));
  EXPECT_TRUE(log_.is_in_order());
  ASSERT_TRUE(eventually([&] { return thrown == 3; }, kTestTimeout));
  EXPECT_TRUE(eventually([&] { return log.contains("from a listener"); }, kTestTimeout));
}

TEST_F(LatchListener, BlockedListeners_LatchLeadsAgainAfterEachLoss) {
  Gate gate;
  LeaderLatch latch(*client_, kPath);
  std::atomic<int> calls{0};
  std::vector<Subscription> blocking;
  for (int i = 0; i < 20; ++i) {  // more than the client has threads for callbacks
    blocking.push_back(latch.add_listener(
        [&](const Leadership&) {
          gate.pass();
          ++calls;
        },
        [&](const Leadership&) { ++calls; }));
  }
  const Gate::Opener opener(gate);
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kTestTimeout));
  ASSERT_TRUE(gate.reached_by(8));
  for (int i = 0; i < 2; ++i) lose_and_lead_again(*client_, latch);
  EXPECT_EQ(calls, 0);
  gate.open();
  EXPECT_TRUE(eventually([&] { return calls == 20 * 5; }, kTestTimeout));
}

// Callbacks that block occupy every thread that reports losses.
TEST_F(LatchListener, LossCallbacksBlock_QueriesReportTheLossAtOnce) {
  Gate gate;
  const auto latch = leading_latch(*client_);
  const auto subscription = log_.listen_to(*latch);
  ASSERT_TRUE(log_.reaches(1));
  const Leadership first = latch->leadership();
  ReentrantMutex mutex(*client_, "/other");
  std::vector<Hold> holds;
  std::deque<std::stop_callback<std::function<void()>>> callbacks;
  const Gate::Opener opener(gate);
  for (int i = 0; i < 32; ++i) {
    ReentrantMutex elsewhere(*client_, "/other-" + std::to_string(i));
    holds.push_back(elsewhere.acquire({.owner = Owner::unique()}));
    callbacks.emplace_back(holds.back().loss_token(), [&gate] { gate.pass(); });
  }
  const TestServer* const server = SharedServer::server();
  if (server == nullptr) GTEST_SKIP() << "needs a server of this kit";
  for (const Hold& hold : holds) {
    ASSERT_TRUE(eventually([&] { return watched(*server, hold.node()); }, kTestTimeout));
    ASSERT_EQ(raw().delete_node(hold.node()), ZOK);
  }
  ASSERT_TRUE(gate.reached_by(32));
  ASSERT_TRUE(latch->has_leadership());
  expire(*client_);
  EXPECT_TRUE(eventually([&] { return !latch->has_leadership(); }, kTestTimeout));
  EXPECT_EQ(first.state(), HoldState::lost);
  EXPECT_TRUE(first.end_token().stop_requested());
  EXPECT_FALSE(latch->wait_until_leader(Deadline::passed()));
  EXPECT_EQ(log_.size(), 1U);  // the listener was not called
  gate.open();
  EXPECT_TRUE(leads_after(*latch, first.token()));
  ASSERT_TRUE(log_.reaches(3));
  EXPECT_TRUE(log_.is_in_order());
  callbacks.clear();
}

// An executor that runs its tasks when the test calls it.
class ManualExecutor {
 public:
  Executor executor() {
    return [this](std::function<void()> task) {
      const std::lock_guard guard(mutex_);
      tasks_.push_back(std::move(task));
    };
  }
  void run() {
    const auto taken = [this] {
      const std::lock_guard guard(mutex_);
      return std::exchange(tasks_, {});
    }();
    for (const auto& task : taken) task();
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;  // guarded by mutex_
};

TEST_F(LatchListener, ExecutorGiven_ListenerRunsOnIt) {
  ManualExecutor executor;
  std::vector<std::thread::id> threads;
  LeaderLatch latch(*client_, kPath, {.executor = executor.executor()});
  const auto subscription = latch.add_listener(
      [&](const Leadership&) { threads.push_back(std::this_thread::get_id()); }, {});
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kTestTimeout));
  ASSERT_TRUE(eventually(
      [&] {
        executor.run();
        return !threads.empty();
      },
      kTestTimeout));
  EXPECT_EQ(threads, std::vector{std::this_thread::get_id()});
}

TEST_F(LatchListener, EndQueuedInTheExecutor_DestructorReportsIt) {
  ManualExecutor executor;
  std::optional<LeaderLatch> latch(std::in_place, *client_, kPath,
                                   LatchOptions{.executor = executor.executor()});
  const auto subscription = log_.listen_to(*latch);
  latch->start();
  ASSERT_TRUE(latch->wait_until_leader(kTestTimeout));
  ASSERT_TRUE(eventually(
      [&] {
        executor.run();
        return log_.size() == 1;
      },
      kTestTimeout));
  latch->close(CloseMode::notify);
  EXPECT_EQ(log_.size(), 1U);
  latch.reset();
  EXPECT_EQ(log_.size(), 2U);
  EXPECT_TRUE(log_.is_in_order());
  executor.run();
  EXPECT_EQ(log_.size(), 2U);
}

}  // namespace
}  // namespace zklock::testing
