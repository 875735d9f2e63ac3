// SPDX-License-Identifier: Apache-2.0
// LeaderLatch: contention, its listeners, a close at any moment, and a server that is down.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/gate.h"
#include "conformance/leader_fixture.h"
#include "conformance/lock_test.h"
#include "conformance/log_capture.h"

namespace zklock::testing {
namespace {

class Latch : public LeaderTest<LockTest> {
 protected:
  // Ends the session of the leader, and waits until the latch leads again.
  void lose_and_lead_again(const Client& client, const LeaderLatch& latch) const {
    const FencingToken token = latch.token();
    expire(client);
    ASSERT_TRUE(leads_after(latch, token));
  }

  LeadershipLog log_;
  const std::unique_ptr<Client> client_ = connect();
};

TEST_F(Latch, OnlyCandidate_LeadsUntilItIsClosed) {
  LeaderLatch latch(*client_, kPath);
  EXPECT_FALSE(latch.has_leadership());
  EXPECT_FALSE(latch.wait_until_leader(Deadline::passed()));
  EXPECT_EQ(latch.leader(), std::nullopt);
  EXPECT_EQ(latch.leadership().state(), HoldState::lost);
  EXPECT_TRUE(latch.leadership().end_token().stop_requested());
  EXPECT_TRUE(chroot_.is_empty());  // no znode before start()

  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kTestTimeout));
  EXPECT_TRUE(latch.has_leadership());
  latch.start();  // no effect: it is started
  const Leadership leadership = latch.leadership();
  EXPECT_EQ(leadership.state(), HoldState::held);
  EXPECT_GT(leadership.valid_until(), LeaseClock::now());
  EXPECT_FALSE(leadership.end_token().stop_requested());
  EXPECT_EQ(leadership.token(), latch.token());
  EXPECT_EQ(raw().exists(leadership.node()).stat.czxid, latch.token().zxid);
  EXPECT_EQ(nodes().size(), 1U);
  EXPECT_EQ(latch.error(), std::nullopt);

  latch.close();
  EXPECT_FALSE(latch.has_leadership());
  EXPECT_TRUE(leadership.end_token().stop_requested());
  EXPECT_EQ(leadership.state(), HoldState::lost);
  EXPECT_EQ(leadership.valid_until(), LeaseClock::time_point::min());
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Latch, DeadlinePassed_WaitEndsAndCandidateStaysQueued) {
  const auto other = connect();
  const auto leader = leading_latch(*other);
  const auto latch = start_latch(*client_);
  const auto deadline = LeaseClock::now() + 300ms;
  EXPECT_FALSE(latch->wait_until_leader(deadline));
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_TRUE(reaches_nodes(2));
  std::vector<std::future<bool>> waiting;
  for (int i = 0; i < 5; ++i) {
    waiting.push_back(in_thread([&] { return latch->wait_until_leader(kTestTimeout); }));
  }
  leader->close();
  for (auto& one : waiting) EXPECT_TRUE(get(one));
}

TEST_F(Latch, PermanentError_IsRetainedUntilStartedAgain) {
  ACL entry{ZOO_PERM_READ, {const_cast<char*>("world"), const_cast<char*>("anyone")}};
  ACL_vector read_only{1, &entry};
  ASSERT_EQ(raw().create(kPath, {}, 0, read_only).rc, ZOK);
  LeaderLatch latch(*client_, kPath);
  auto waiting = in_thread([&] { return latch.wait_until_leader(); });
  latch.start();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::no_auth);
  EXPECT_EQ(error_of([&] { return latch.wait_until_leader(); }), Errc::no_auth);
  ASSERT_NE(latch.error(), std::nullopt);
  EXPECT_EQ(latch.error()->errc(), Errc::no_auth);
  EXPECT_FALSE(latch.has_leadership());

  ASSERT_EQ(raw().delete_node(kPath), ZOK);
  latch.start();
  EXPECT_TRUE(latch.wait_until_leader(kTestTimeout));
  EXPECT_EQ(latch.error(), std::nullopt);
}

// ---- listeners ----------------------------------------------------------------------------------

TEST_F(Latch, EachLeadership_IsReportedOnceAndInOrder) {
  LeaderLatch latch(*client_, kPath);
  const auto subscription = log_.listen_to(latch);
  LeadershipLog second;
  const auto second_subscription = second.listen_to(latch);
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kTestTimeout));
  for (std::size_t lost = 0; lost < 2; ++lost) {
    // A leadership that ends before its listener was called is not reported.
    ASSERT_TRUE(log_.reaches(2 * lost + 1));
    ASSERT_TRUE(second.reaches(2 * lost + 1));
    lose_and_lead_again(*client_, latch);
  }
  ASSERT_TRUE(log_.reaches(5));
  ASSERT_TRUE(second.reaches(5));
  latch.close(CloseMode::notify);
  ASSERT_TRUE(log_.reaches(6));
  ASSERT_TRUE(second.reaches(6));
  EXPECT_TRUE(log_.is_in_order());
  EXPECT_EQ(log_.all(), second.all());
}

TEST_F(Latch, AddedWhileItLeads_ReceivesThatLeadershipFirst) {
  const auto latch = leading_latch(*client_);
  const auto subscription = log_.listen_to(*latch);
  ASSERT_TRUE(log_.reaches(1));
  EXPECT_EQ(log_.all(), (std::vector{LeadershipEvent{true, latch->token()}}));
  lose_and_lead_again(*client_, *latch);
  ASSERT_TRUE(log_.reaches(3));
  EXPECT_TRUE(log_.is_in_order());
}

TEST_F(Latch, BlockedListeners_LatchLeadsAgainAfterEachLoss) {
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

TEST_F(Latch, EndQueuedInTheExecutor_DestructorReportsIt) {
  Chronicle<std::function<void()>> tasks;
  std::size_t ran = 0;
  const auto run = [&] {
    for (const auto all = tasks.all(); ran < all.size(); ++ran) all[ran]();
  };
  const auto executor = [&tasks](std::function<void()> task) { tasks.add(std::move(task)); };
  std::optional<LeaderLatch> latch(std::in_place, *client_, kPath,
                                   LatchOptions{.executor = executor});
  const auto subscription = log_.listen_to(*latch);
  latch->start();
  ASSERT_TRUE(latch->wait_until_leader(kTestTimeout));
  EXPECT_EQ(log_.size(), 0U) << "only the executor calls the listener";
  ASSERT_TRUE(tasks.reaches(1));
  run();
  EXPECT_EQ(log_.size(), 1U);
  latch->close(CloseMode::notify);
  EXPECT_EQ(log_.size(), 1U);
  latch.reset();
  EXPECT_EQ(log_.size(), 2U);
  EXPECT_TRUE(log_.is_in_order());
  run();
  EXPECT_EQ(log_.size(), 2U);
}

// ---- close --------------------------------------------------------------------------------------

TEST_F(Latch, NotStarted_CloseSendsNothing) {
  LeaderLatch latch(*client_, kPath);
  const auto subscription = log_.listen_to(latch);
  latch.close(CloseMode::notify);
  latch.close();
  EXPECT_EQ(error_of([&] { latch.start(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return latch.wait_until_leader(Deadline::passed()); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return latch.add_listener({}, {}); }), Errc::closed);
  EXPECT_EQ(latch.error()->errc(), Errc::closed);
  EXPECT_EQ(log_.size(), 0U);
  EXPECT_TRUE(chroot_.is_empty());
}

TEST_F(Latch, ClosedAtAnyMoment_LeavesNoZnode) {
  for (int i = 0; i < 100; ++i) {
    const auto latch = start_latch(*client_);
    const auto behind = start_latch(*client_);
    if (i % 4 == 1) static_cast<void>(nodes());  // one round trip later
    if (i % 4 == 2) static_cast<void>(latch->wait_until_leader(kTestTimeout));
    if (i % 4 == 3) behind->close(CloseMode::notify);
    latch->close(i % 2 == 0 ? CloseMode::notify : CloseMode::silent);
    EXPECT_FALSE(latch->has_leadership());
  }
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(nothing_is_left());
  EXPECT_TRUE(is_free());
}

TEST_F(Latch, Closed_ListenersAreCalledByItsMode) {
  for (const CloseMode mode : {CloseMode::silent, CloseMode::notify}) {
    LeadershipLog log;
    const auto client = connect();
    const auto latch = leading_latch(*client);
    const auto subscription = log.listen_to(*latch);
    ASSERT_TRUE(log.reaches(1));
    std::vector<std::thread::id> ended;
    const std::stop_callback on_end(latch->leadership().end_token(),
                                    [&ended] { ended.push_back(std::this_thread::get_id()); });
    latch->close(mode);
    EXPECT_EQ(ended, std::vector{std::this_thread::get_id()}) << "the candidate is notified";
    latch->close(CloseMode::notify);
    latch->close(CloseMode::silent);
    EXPECT_TRUE(client->flush(kTestTimeout));
    client->close();  // runs the callbacks that are left
    EXPECT_EQ(log.size(), mode == CloseMode::notify ? 2U : 1U);
    EXPECT_TRUE(log.is_in_order());
  }
}

TEST_F(Latch, ClosedByItsListener_LeadershipEndsAtOnce) {
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
    EXPECT_TRUE(eventually([&] { return lost == expected; }, kTestTimeout));
    EXPECT_TRUE(becomes_empty());
    EXPECT_TRUE(client_->flush(kTestTimeout));
    EXPECT_EQ(gained, 1);
    EXPECT_EQ(lost, expected);
  }
}

TEST_F(Latch, ClosedByTwoListenersAtOnce_DoesNotDeadlock) {
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
  EXPECT_TRUE(eventually([&] { return closed == 2; }, kTestTimeout));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Latch, ClosedByACallbackOfItsLoss_DeletesItsZnode) {
  for (const bool by_listener : {true, false}) {
    const auto client = connect();
    const auto latch = leading_latch(*client);
    std::promise<void> closed;
    const std::function<void()> close = [&] {
      latch->close();
      closed.set_value();
    };
    Subscription subscription;
    std::optional<std::stop_callback<std::function<void()>>> on_end;
    if (by_listener) {
      subscription = latch->add_listener({}, [&](const Leadership&) { close(); });
    } else {
      on_end.emplace(latch->leadership().end_token(), close);
    }
    expire(*client);
    auto done = closed.get_future();
    get(done);
    EXPECT_TRUE(client->flush(kTestTimeout));
    EXPECT_TRUE(becomes_empty());
  }
}

TEST_F(Latch, ClientEnds_EndIsReportedAndQueriesThrowClosed) {
  std::optional<Client> client(options());
  auto latch = leading_latch(*client);
  const auto behind = start_latch(*client);
  const auto subscription = log_.listen_to(*latch);
  ASSERT_TRUE(log_.reaches(1));
  const Leadership leadership = latch->leadership();
  client->close();
  EXPECT_FALSE(latch->has_leadership());
  EXPECT_EQ(leadership.state(), HoldState::lost);
  EXPECT_TRUE(leadership.end_token().stop_requested());
  EXPECT_TRUE(log_.reaches(2));
  EXPECT_TRUE(eventually([&] { return latch->error().has_value(); }, kTestTimeout));
  EXPECT_EQ(latch->error()->errc(), Errc::closed);
  client.reset();
  EXPECT_EQ(error_of([&] { return behind->wait_until_leader(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return behind->leader(); }), Errc::closed);
  latch->close(CloseMode::notify);
  latch.reset();
  EXPECT_TRUE(log_.is_in_order());
  EXPECT_EQ(log_.size(), 2U);
  EXPECT_TRUE(becomes_empty());
}

// ---- without a server ---------------------------------------------------------------------------

class LatchOnItsServer : public LeaderTest<OwnServerTest> {
 protected:
  ClientOptions impatient(const LogCapture& log) const {
    ClientOptions result = options();
    result.connection_timeout = 100ms;
    result.logger = log.logger();
    return result;
  }
  static bool fails_to_contend(const LogCapture& log) {
    return eventually([&] { return log.contains("lead /lock: "); }, kTestTimeout);
  }

  LogCapture log_;
};

TEST_F(LatchOnItsServer, StartedBeforeTheServer_LeadsLater) {
  server_.kill();
  Client client(impatient(log_));
  LeaderLatch latch(client, kPath, {.retry_delay_min = 1ms, .retry_delay_max = 50ms});
  latch.start();
  EXPECT_FALSE(latch.wait_until_leader(100ms));
  ASSERT_TRUE(fails_to_contend(log_));
  EXPECT_EQ(latch.error(), std::nullopt);  // a transient failure is no error
  EXPECT_EQ(error_of([&] { return latch.leader(); }), Errc::not_connected);
  start_again();
  EXPECT_TRUE(latch.wait_until_leader(kTestTimeout));
  EXPECT_EQ(nodes().size(), 1U);
}

TEST_F(LatchOnItsServer, EndsDuringARetryDelay_WaitThrowsAndLeavesNothing) {
  server_.kill();
  const LogCapture log_of_closed;
  Client client(impatient(log_));
  Client closed(impatient(log_of_closed));
  const LatchOptions once{.retry_delay_min = 1h, .retry_delay_max = 2h};
  LeaderLatch contending(client, kPath);
  contending.start();
  LeaderLatch failing(client, kPath, once);
  failing.start();
  LeaderLatch of_closed(closed, kPath, once);
  of_closed.start();
  ASSERT_TRUE(fails_to_contend(log_) && fails_to_contend(log_of_closed));
  auto waiting = in_thread([&] { return failing.wait_until_leader(); });
  auto also_waiting = in_thread([&] { return of_closed.wait_until_leader(); });
  contending.close();
  failing.close();
  closed.close();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return get(also_waiting); }), Errc::closed);
  EXPECT_EQ(of_closed.error()->errc(), Errc::closed);
  start_again();
  ASSERT_TRUE(client.wait_until_connected(kTestTimeout));
  EXPECT_TRUE(is_free());  // a create of `client` would have come first
  EXPECT_TRUE(client.flush(kTestTimeout));
  EXPECT_TRUE(nodes().empty());
}

}  // namespace
}  // namespace zklock::testing
