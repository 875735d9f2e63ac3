// SPDX-License-Identifier: Apache-2.0
// LeaderLatch: contention, the change of leaders, and waiting for leadership.
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

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
