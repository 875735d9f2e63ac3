// SPDX-License-Identifier: Apache-2.0
// LeaderLatch: contention, the change of leaders, and waiting for leadership.
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "conformance/leader_fixture.h"

namespace zklock::testing {
namespace {

class Latch : public LeaderTest<LockTest> {
 protected:
  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
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

TEST_F(Latch, OtherCandidateLeads_LeaderIsReturned) {
  const auto first = leading_latch(*client_);
  const auto second = start_latch(*other_);
  ASSERT_TRUE(reaches_nodes(2));
  const auto leader = second->leader(kTestTimeout);
  ASSERT_NE(leader, std::nullopt);
  EXPECT_EQ(leader->token, first->token());
  EXPECT_EQ(leader->session_id, client_->session_id());
  EXPECT_EQ(leader->application, "conformance");
  EXPECT_TRUE(leader->holds);
  EXPECT_FALSE(leader->mine);
  EXPECT_TRUE(first->leader(kTestTimeout)->mine);
  const auto all = first->participants(kTestTimeout);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].session_id, other_->session_id());
  EXPECT_FALSE(second->has_leadership());
}

TEST_F(Latch, TwoLatchesOfAClient_AreTwoCandidates) {
  const auto first = leading_latch(*client_);
  const auto second = start_latch(*client_);
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(second->wait_until_leader(100ms));
  const FencingToken before = first->token();
  first->close();
  ASSERT_TRUE(second->wait_until_leader(kTestTimeout));
  EXPECT_GT(second->token(), before);
}

TEST_F(Latch, LeaderIsDestroyed_NextCandidateLeads) {
  auto first = leading_latch(*client_);
  const auto second = start_latch(*other_);
  ASSERT_TRUE(reaches_nodes(2));
  const FencingToken before = first->token();
  first.reset();
  ASSERT_TRUE(second->wait_until_leader(kTestTimeout));
  EXPECT_GT(second->token(), before);
  EXPECT_TRUE(reaches_nodes(1));
}

TEST_F(Latch, SessionOfTheLeaderEnds_LatchContendsAgain) {
  LeadershipLog log;
  const auto first = leading_latch(*client_);
  const auto subscription = log.listen_to(*first);
  const auto second = start_latch(*other_);
  ASSERT_TRUE(reaches_nodes(2));
  const Leadership lost = first->leadership();
  expire(*client_);
  ASSERT_TRUE(second->wait_until_leader(kTestTimeout));
  const FencingToken token = second->token();
  EXPECT_GT(token, lost.token());
  EXPECT_TRUE(eventually([&] { return lost.end_token().stop_requested(); }, kTestTimeout));
  EXPECT_EQ(lost.state(), HoldState::lost);
  EXPECT_FALSE(first->has_leadership());

  ASSERT_TRUE(reaches_nodes(2));  // it is enqueued again
  second->close();
  EXPECT_TRUE(leads_after(*first, token));
  ASSERT_TRUE(log.reaches(3));
  EXPECT_TRUE(log.is_in_order());
  EXPECT_EQ(log.all()[0].token, lost.token());
  EXPECT_EQ(log.all()[2].token, first->token());
  EXPECT_EQ(lost.state(), HoldState::lost);  // an old leadership stays lost
}

TEST_F(Latch, ZnodeOfTheLeaderIsDeleted_LeadsAgain) {
  const TestServer* const server = SharedServer::server();
  if (server == nullptr) GTEST_SKIP() << "needs a server of this kit";
  LeadershipLog log;
  const auto latch = leading_latch(*client_);
  const auto subscription = log.listen_to(*latch);
  const Leadership first = latch->leadership();
  ASSERT_TRUE(eventually([&] { return watched(*server, first.node()); }, kTestTimeout));
  std::atomic<int> notified{0};
  const std::stop_callback on_end(first.end_token(), [&notified] { ++notified; });
  ASSERT_EQ(raw().delete_node(first.node()), ZOK);
  EXPECT_TRUE(leads_after(*latch, first.token()));
  ASSERT_TRUE(log.reaches(3));
  EXPECT_TRUE(log.is_in_order());
  EXPECT_TRUE(eventually([&] { return notified == 1; }, kTestTimeout));
  EXPECT_EQ(nodes().size(), 1U);
}

TEST_F(Latch, ZnodeOfAWaiterIsDeleted_EnqueuesAgain) {
  const auto first = leading_latch(*client_);
  const auto second = start_latch(*other_);
  ASSERT_TRUE(reaches_nodes(2));
  const std::string node = nodes().at(1);
  ASSERT_EQ(raw().delete_node(kPath + "/" + node), ZOK);
  ASSERT_TRUE(
      eventually([&] { return nodes().size() == 2 && nodes().at(1) != node; }, kTestTimeout));
  first->close();
  EXPECT_TRUE(second->wait_until_leader(kTestTimeout));
}

class TenLatches : public Latch {
 protected:
  using Latches = std::vector<std::unique_ptr<LeaderLatch>>;

  static LeaderLatch* the_leader(const Latches& latches) {
    LeaderLatch* leader = nullptr;
    for (const auto& latch : latches) {
      if (!latch->has_leadership()) continue;
      EXPECT_EQ(leader, nullptr) << "two lead";
      leader = latch.get();
    }
    return leader;
  }

  // Ends both sessions. After each end, one latch leads and its listener has been called.
  LeaderLatch* after_both_sessions_expired(const Latches& latches,
                                           const Chronicle<FencingToken>& reported) {
    const std::size_t candidates = nodes().size();
    LeaderLatch* leader = nullptr;
    for (const auto* client : {client_.get(), other_.get()}) {
      const auto session = client->session_id();
      expire(*client);
      EXPECT_TRUE(eventually(
          [&] { return client->is_connected() && client->session_id() != session; }, kTestTimeout));
      EXPECT_TRUE(reaches_nodes(candidates));
      EXPECT_TRUE(
          eventually([&] { return (leader = the_leader(latches)) != nullptr; }, kTestTimeout));
      EXPECT_TRUE(leader == nullptr || reported.has(leader->token()));
    }
    return leader;
  }
};

// Each latch leads once and is closed then. The listener of each leader writes to a resource that
// refuses lower tokens. No write may be refused, and at no time may two latches lead.
TEST_F(TenLatches, ManyLatches_LeadershipsNeverOverlap) {
  Chronicle<FencingToken> writes;
  Latches latches;
  std::vector<Subscription> subscriptions;
  for (std::size_t i = 0; i < 10; ++i) {
    Client& client = i % 2 == 0 ? *client_ : *other_;
    latches.push_back(std::make_unique<LeaderLatch>(client, kPath));
    subscriptions.push_back(latches.back()->add_listener(
        [&writes](const Leadership& leadership) { writes.add(leadership.token()); }, {}));
    latches.back()->start();
  }
  ASSERT_TRUE(writes.reaches(1));
  for (std::size_t round = 0; round < 10; ++round) {
    LeaderLatch* leader = the_leader(latches);
    ASSERT_NE(leader, nullptr);
    EXPECT_EQ(leader->token(), writes.all().back());
    if (round == 4) {
      leader = after_both_sessions_expired(latches, writes);
      ASSERT_NE(leader, nullptr);
    }
    const std::size_t before = writes.size();
    leader->close();
    if (round < 9) {
      ASSERT_TRUE(writes.reaches(before + 1));
    }
  }
  const auto tokens = writes.all();
  for (std::size_t i = 1; i < tokens.size(); ++i) EXPECT_GT(tokens[i], tokens[i - 1]);
  EXPECT_TRUE(nothing_is_left());
}

// ---- waiting for leadership ---------------------------------------------------------------------

class LatchWaiting : public Latch {
 protected:
  const std::unique_ptr<LeaderLatch> leader_ = leading_latch(*other_);
  const std::unique_ptr<LeaderLatch> latch_ = start_latch(*client_);
};

TEST_F(LatchWaiting, DeadlinePassed_WaitEndsAndCandidateStaysQueued) {
  const auto deadline = LeaseClock::now() + 300ms;
  EXPECT_FALSE(latch_->wait_until_leader(deadline));
  EXPECT_GE(LeaseClock::now(), deadline);
  EXPECT_TRUE(reaches_nodes(2));
  leader_->close();
  EXPECT_TRUE(latch_->wait_until_leader(kTestTimeout));
}

TEST_F(LatchWaiting, StopRequested_WaitEnds) {
  std::stop_source stop;
  auto waiting =
      in_thread([&] { return latch_->wait_until_leader(Deadline::never(), stop.get_token()); });
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(waiting));
  stop.request_stop();
  EXPECT_FALSE(get(waiting));
  EXPECT_FALSE(latch_->wait_until_leader(Deadline::never(), stop.get_token()));
  EXPECT_EQ(nodes().size(), 2U);
}

TEST_F(LatchWaiting, ThreadIsInterrupted_WaitThrows) {
  std::promise<bool> interrupted;
  boost::thread waiting([&] {
    try {
      static_cast<void>(latch_->wait_until_leader());
      interrupted.set_value(false);
    } catch (const boost::thread_interrupted&) {
      interrupted.set_value(true);
    }
  });
  waiting.interrupt();
  auto result = interrupted.get_future();
  EXPECT_TRUE(get(result));
  waiting.join();
  leader_->close();
  EXPECT_TRUE(latch_->wait_until_leader(kTestTimeout));
}

TEST_F(LatchWaiting, LatchIsClosed_WaitThrows) {
  auto waiting = in_thread([&] { return latch_->wait_until_leader(); });
  ASSERT_TRUE(reaches_nodes(2));
  latch_->close();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return latch_->wait_until_leader(); }), Errc::closed);
  EXPECT_TRUE(reaches_nodes(1));
}

TEST_F(LatchWaiting, ClientIsClosed_WaitThrows) {
  auto waiting = in_thread([&] { return latch_->wait_until_leader(); });
  ASSERT_TRUE(reaches_nodes(2));
  client_->close();
  EXPECT_EQ(error_of([&] { return get(waiting); }), Errc::closed);
  EXPECT_EQ(error_of([&] { latch_->start(); }), Errc::closed);
  ASSERT_NE(latch_->error(), std::nullopt);
  EXPECT_EQ(latch_->error()->errc(), Errc::closed);
}

TEST_F(LatchWaiting, ManyThreadsWait_AllReturn) {
  std::vector<std::future<bool>> waiting;
  for (int i = 0; i < 5; ++i) {
    waiting.push_back(in_thread([&] { return latch_->wait_until_leader(kTestTimeout); }));
  }
  leader_->close();
  for (auto& one : waiting) EXPECT_TRUE(get(one));
}

// ---- errors -------------------------------------------------------------------------------------

TEST_F(Latch, InvalidInput_IsRefusedByTheConstructor) {
  EXPECT_EQ(error_of([&] { return LeaderLatch(*client_, "lock").path(); }), Errc::invalid_path);
  for (const LatchOptions& bad :
       {LatchOptions{.retry_delay_min = 0ms}, LatchOptions{.retry_delay_min = -1ms},
        LatchOptions{.retry_delay_min = 2s, .retry_delay_max = 1s}}) {
    EXPECT_EQ(error_of([&] { return LeaderLatch(*client_, kPath, bad).path(); }),
              Errc::invalid_option);
  }
  client_->close();
  EXPECT_EQ(error_of([&] { return LeaderLatch(*client_, kPath).path(); }), Errc::closed);
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

}  // namespace
}  // namespace zklock::testing
