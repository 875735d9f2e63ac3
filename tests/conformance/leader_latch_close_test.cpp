// SPDX-License-Identifier: Apache-2.0
// LeaderLatch: the calls of its listeners, and a close that leaves nothing behind.
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/leader_fixture.h"
#include "conformance/log_capture.h"

namespace zklock::testing {
namespace {

class LatchListener : public LeaderTest<LockTest> {
 protected:
  // Ends the session of the leader, and waits until the latch leads again.
  void lose_and_lead_again(const Client& client, const LeaderLatch& latch) const {
    const FencingToken token = latch.token();
    expire(client);
    ASSERT_TRUE(leads_after(latch, token));
  }

  Heard heard_;
  const std::unique_ptr<Client> client_ = connect();
};

TEST_F(LatchListener, EachLeadership_IsReportedOnceAndInOrder) {
  LeaderLatch latch(*client_, kPath);
  const auto subscription = heard_.listen_to(latch);
  Heard second;
  const auto second_subscription = second.listen_to(latch);
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kPatience));
  for (std::size_t lost = 0; lost < 3; ++lost) {
    // A leadership that ends before its listener was called is not reported.
    ASSERT_TRUE(heard_.reaches(2 * lost + 1));
    ASSERT_TRUE(second.reaches(2 * lost + 1));
    lose_and_lead_again(*client_, latch);
  }
  ASSERT_TRUE(heard_.reaches(7));
  ASSERT_TRUE(second.reaches(7));
  latch.close(CloseMode::notify);
  ASSERT_TRUE(heard_.reaches(8));
  ASSERT_TRUE(second.reaches(8));
  EXPECT_TRUE(heard_.is_in_order());
  EXPECT_EQ(heard_.all(), second.all());
}

TEST_F(LatchListener, CallsOfAListener_DoNotOverlap) {
  LeaderLatch latch(*client_, kPath);
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  std::atomic<int> calls{0};
  const auto call = [&](const Leadership&) {
    if (++inside > 1) overlapped = true;
    std::this_thread::yield();
    --inside;
    ++calls;
  };
  const auto subscription = latch.add_listener(call, call);
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kPatience));
  for (int i = 0; i < 3; ++i) lose_and_lead_again(*client_, latch);
  ASSERT_TRUE(eventually([&] { return calls == 7; }, kPatience));
  EXPECT_FALSE(overlapped);
}

TEST_F(LatchListener, AddedWhileItLeads_ReceivesThatLeadershipFirst) {
  const auto latch = leading_latch(*client_);
  const auto subscription = heard_.listen_to(*latch);
  ASSERT_TRUE(heard_.reaches(1));
  EXPECT_EQ(heard_.all(), (std::vector{News{true, latch->token()}}));
  lose_and_lead_again(*client_, *latch);
  ASSERT_TRUE(heard_.reaches(3));
  EXPECT_TRUE(heard_.is_in_order());
}

TEST_F(LatchListener, Removed_IsNotCalledAgain) {
  const auto latch = leading_latch(*client_);
  Heard other;
  auto removed = heard_.listen_to(*latch);
  const auto kept = other.listen_to(*latch);
  ASSERT_TRUE(heard_.reaches(1));
  removed.cancel();
  lose_and_lead_again(*client_, *latch);
  ASSERT_TRUE(other.reaches(3));
  EXPECT_EQ(heard_.size(), 1U);
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
  const auto good = heard_.listen_to(latch);
  const auto neither = latch.add_listener({}, {});
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kPatience));
  lose_and_lead_again(*client, latch);
  ASSERT_TRUE(heard_.reaches(3));
  EXPECT_TRUE(heard_.is_in_order());
  ASSERT_TRUE(eventually([&] { return thrown == 3; }, kPatience));
  EXPECT_TRUE(eventually([&] { return log.contains("from a listener"); }, kPatience));
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
  ASSERT_TRUE(latch.wait_until_leader(kPatience));
  ASSERT_TRUE(gate.reached_by(8));
  for (int i = 0; i < 2; ++i) lose_and_lead_again(*client_, latch);
  EXPECT_EQ(calls, 0);
  gate.open();
  EXPECT_TRUE(eventually([&] { return calls == 20 * 5; }, kPatience));
}

// Callbacks that block occupy every thread that reports losses.
TEST_F(LatchListener, LossCallbacksBlock_QueriesReportTheLossAtOnce) {
  Gate gate;
  const auto latch = leading_latch(*client_);
  const auto subscription = heard_.listen_to(*latch);
  ASSERT_TRUE(heard_.reaches(1));
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
  const ZooKeeperServer* const server = SharedServer::server();
  if (server == nullptr) GTEST_SKIP() << "needs a server of this kit";
  for (const Hold& hold : holds) {
    ASSERT_TRUE(eventually([&] { return watched(*server, hold.node()); }, kPatience));
    ASSERT_EQ(raw().delete_node(hold.node()), ZOK);
  }
  ASSERT_TRUE(gate.reached_by(32));
  ASSERT_TRUE(latch->has_leadership());
  expire(*client_);
  EXPECT_TRUE(eventually([&] { return !latch->has_leadership(); }, kPatience));
  EXPECT_EQ(first.state(), HoldState::lost);
  EXPECT_TRUE(first.end_token().stop_requested());
  EXPECT_FALSE(latch->wait_until_leader(Deadline::passed()));
  EXPECT_EQ(heard_.size(), 1U);  // the listener was not called
  gate.open();
  EXPECT_TRUE(leads_after(*latch, first.token()));
  ASSERT_TRUE(heard_.reaches(3));
  EXPECT_TRUE(heard_.is_in_order());
  callbacks.clear();
}

// An executor that runs its tasks when the test asks for it.
class Later {
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
  Later later;
  std::vector<std::thread::id> threads;
  LeaderLatch latch(*client_, kPath, {.executor = later.executor()});
  const auto subscription = latch.add_listener(
      [&](const Leadership&) { threads.push_back(std::this_thread::get_id()); }, {});
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kPatience));
  ASSERT_TRUE(eventually(
      [&] {
        later.run();
        return !threads.empty();
      },
      kPatience));
  EXPECT_EQ(threads, std::vector{std::this_thread::get_id()});
}

TEST_F(LatchListener, EndQueuedInTheExecutor_DestructorReportsIt) {
  Later later;
  std::optional<LeaderLatch> latch(std::in_place, *client_, kPath,
                                   LatchOptions{.executor = later.executor()});
  const auto subscription = heard_.listen_to(*latch);
  latch->start();
  ASSERT_TRUE(latch->wait_until_leader(kPatience));
  ASSERT_TRUE(eventually(
      [&] {
        later.run();
        return heard_.size() == 1;
      },
      kPatience));
  latch->close(CloseMode::notify);
  EXPECT_EQ(heard_.size(), 1U);
  latch.reset();
  EXPECT_EQ(heard_.size(), 2U);
  EXPECT_TRUE(heard_.is_in_order());
  later.run();
  EXPECT_EQ(heard_.size(), 2U);
}

// ---- closing ------------------------------------------------------------------------------------

class LatchClosing : public LatchListener {};

TEST_F(LatchClosing, NotStarted_CloseSendsNothing) {
  LeaderLatch latch(*client_, kPath);
  const auto subscription = heard_.listen_to(latch);
  latch.close(CloseMode::notify);
  latch.close();
  EXPECT_EQ(error_of([&] { latch.start(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return latch.wait_until_leader(Deadline::passed()); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return latch.add_listener({}, {}); }), Errc::closed);
  EXPECT_EQ(latch.error()->errc(), Errc::closed);
  EXPECT_EQ(heard_.size(), 0U);
  EXPECT_TRUE(chroot_.is_empty());
}

TEST_F(LatchClosing, ClosedAtAnyMoment_LeavesNoZnode) {
  for (int i = 0; i < 100; ++i) {
    const auto latch = start_latch(*client_);
    const auto behind = start_latch(*client_);
    if (i % 4 == 1) static_cast<void>(nodes());  // one round trip later
    if (i % 4 == 2) static_cast<void>(latch->wait_until_leader(kPatience));
    if (i % 4 == 3) behind->close(CloseMode::notify);
    latch->close(i % 2 == 0 ? CloseMode::notify : CloseMode::silent);
    EXPECT_FALSE(latch->has_leadership());
  }
  EXPECT_TRUE(client_->flush(kPatience));
  EXPECT_TRUE(nothing_is_left());
  EXPECT_TRUE(is_free());
}

TEST_F(LatchClosing, SilentClose_CallsNoListener) {
  const auto latch = leading_latch(*client_);
  const auto subscription = heard_.listen_to(*latch);
  ASSERT_TRUE(heard_.reaches(1));
  const Leadership leadership = latch->leadership();
  std::atomic<int> told{0};
  const std::stop_callback on_end(leadership.end_token(), [&told] { ++told; });
  latch->close();
  EXPECT_EQ(told, 1);  // the candidate that leads must be notified
  latch->close(CloseMode::notify);
  EXPECT_TRUE(client_->flush(kPatience));
  client_->close();  // runs the callbacks that are left
  EXPECT_EQ(heard_.size(), 1U);
}

TEST_F(LatchClosing, NotifyingClose_ReportsTheEndOnce) {
  const auto latch = leading_latch(*client_);
  const auto subscription = heard_.listen_to(*latch);
  ASSERT_TRUE(heard_.reaches(1));
  latch->close(CloseMode::notify);
  latch->close(CloseMode::notify);
  latch->close(CloseMode::silent);
  ASSERT_TRUE(heard_.reaches(2));
  client_->close();
  EXPECT_EQ(heard_.size(), 2U);
  EXPECT_TRUE(heard_.is_in_order());
}

TEST_F(LatchClosing, LeadershipNotReported_NotifyingCloseReportsNothing) {
  Gate gate;
  std::vector<Subscription> blocking;
  LeaderLatch latch(*client_, kPath);
  LeaderLatch elsewhere(*client_, "/elsewhere");
  for (int i = 0; i < 8; ++i) {  // as many as the client has threads for callbacks
    blocking.push_back(elsewhere.add_listener([&gate](const Leadership&) { gate.pass(); }, {}));
  }
  const Gate::Opener opener(gate);
  elsewhere.start();
  ASSERT_TRUE(gate.reached_by(8));
  const auto subscription = heard_.listen_to(latch);
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kPatience));
  latch.close(CloseMode::notify);
  gate.open();
  client_->close();
  EXPECT_EQ(heard_.size(), 0U);
}

TEST_F(LatchClosing, ClosedByItsListener_LeadershipEndsAtOnce) {
  for (const CloseMode mode : {CloseMode::silent, CloseMode::notify}) {
    std::promise<void> closed;
    std::atomic<int> gained{0};
    std::atomic<int> lost{0};
    LeaderLatch latch(*client_, kPath);
    const auto subscription = latch.add_listener(
        [&](const Leadership& leadership) {
          ++gained;
          latch.close(mode);
          EXPECT_TRUE(leadership.end_token().stop_requested());
          EXPECT_FALSE(latch.has_leadership());
          closed.set_value();
        },
        [&](const Leadership&) { ++lost; });
    latch.start();
    auto done = closed.get_future();
    get(done);
    latch.close();
    const int expected = mode == CloseMode::notify ? 1 : 0;
    EXPECT_TRUE(eventually([&] { return lost == expected; }, kPatience));
    EXPECT_TRUE(becomes_empty());
    EXPECT_TRUE(client_->flush(kPatience));
    EXPECT_EQ(gained, 1);
    EXPECT_EQ(lost, expected);
  }
}

TEST_F(LatchClosing, ClosedByTwoListenersAtOnce_DoesNotDeadlock) {
  Gate both;
  std::atomic<int> closed{0};
  LeaderLatch latch(*client_, kPath);
  const auto close = [&](const Leadership&) {
    both.pass();
    latch.close();
    ++closed;
  };
  const auto first = latch.add_listener(close, {});
  const auto second = latch.add_listener(close, {});
  const Gate::Opener opener(both);
  latch.start();
  ASSERT_TRUE(both.reached_by(2));
  both.open();
  EXPECT_TRUE(eventually([&] { return closed == 2; }, kPatience));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LatchClosing, ClosedByALossListener_DeletesItsZnode) {
  std::promise<void> closed;
  const auto latch = leading_latch(*client_);
  const auto subscription = latch->add_listener({}, [&](const Leadership&) {
    latch->close();
    closed.set_value();
  });
  expire(*client_);
  auto done = closed.get_future();
  get(done);
  EXPECT_TRUE(client_->flush(kPatience));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LatchClosing, ClosedByAStopCallback_DeletesItsZnode) {
  std::promise<void> closed;
  const auto latch = leading_latch(*client_);
  const Leadership leadership = latch->leadership();
  const std::stop_callback on_end(leadership.end_token(), [&] {
    latch->close();
    closed.set_value();
  });
  expire(*client_);
  auto done = closed.get_future();
  get(done);
  EXPECT_TRUE(client_->flush(kPatience));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LatchClosing, ListenerRuns_CloseWaitsForIt) {
  Gate gate;
  std::atomic<bool> returned{false};
  const auto latch = leading_latch(*client_);
  const auto subscription = latch->add_listener(
      [&](const Leadership&) {
        gate.pass();
        returned = true;
      },
      {});
  std::future<void> closing;
  const Gate::Opener opener(gate);
  ASSERT_TRUE(gate.reached_by(1));
  closing = in_thread([&] { latch->close(); });
  ASSERT_TRUE(becomes_empty());  // the lock is released already
  EXPECT_FALSE(is_ready(closing));
  gate.open();
  get(closing);
  EXPECT_TRUE(returned);
}

TEST_F(LatchClosing, ClientIsClosed_LeadershipEndIsReported) {
  auto latch = leading_latch(*client_);
  const auto subscription = heard_.listen_to(*latch);
  ASSERT_TRUE(heard_.reaches(1));
  const Leadership leadership = latch->leadership();
  client_->close();
  EXPECT_FALSE(latch->has_leadership());
  EXPECT_EQ(leadership.state(), HoldState::lost);
  EXPECT_TRUE(leadership.end_token().stop_requested());
  EXPECT_TRUE(heard_.reaches(2));
  EXPECT_TRUE(eventually([&] { return latch->error().has_value(); }, kPatience));
  EXPECT_EQ(latch->error()->errc(), Errc::closed);
  latch->close(CloseMode::notify);
  latch.reset();
  EXPECT_TRUE(heard_.is_in_order());
  EXPECT_EQ(heard_.size(), 2U);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LatchClosing, LatchOutlivesItsClient_QueriesThrowClosed) {
  std::optional<Client> client(options());
  const auto latch = leading_latch(*client);
  const auto behind = start_latch(*client);
  client.reset();
  EXPECT_FALSE(latch->has_leadership());
  EXPECT_EQ(error_of([&] { return behind->wait_until_leader(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return behind->leader(); }), Errc::closed);
  EXPECT_TRUE(becomes_empty());
}

TEST_F(LatchClosing, ClosedAfterALoss_LeavesNoZnode) {
  const auto other = connect();
  for (int i = 0; i < 3; ++i) {
    const auto first = leading_latch(*client_);
    const auto second = start_latch(*other);
    ASSERT_TRUE(reaches_nodes(2));
    expire(*client_);
    ASSERT_TRUE(second->wait_until_leader(kPatience));
    ASSERT_TRUE(reaches_nodes(2));
    first->close();
    second->close(CloseMode::notify);
    EXPECT_TRUE(client_->flush(kPatience));
    EXPECT_TRUE(other->flush(kPatience));
    EXPECT_TRUE(nothing_is_left());
  }
}

}  // namespace
}  // namespace zklock::testing
