// SPDX-License-Identifier: Apache-2.0
// The pauses of a candidate between two attempts, which leader_latch.h and leader_election.h
// promise. Also the Leadership after its end, as leadership.h promises it.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>

#include <gtest/gtest.h>

#include "tests/model/election_fixture.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {
namespace {

using Kind = OperationKind;

class CandidateTest : public ::testing::Test {
 protected:
  CandidateTest() { lock_.connect_all(); }
  ~CandidateTest() override {
    if (candidate_) candidate_->close();
    lock_.world().run_all();
  }

  void contend(bool until_finished, std::chrono::milliseconds min = 100ms,
               std::chrono::milliseconds max = 800ms) {
    candidate_ = std::make_shared<TestCandidate>(lock_.core(0), until_finished, true, min, max);
    candidate_->contend();
  }
  std::size_t attempts() { return lock_.world().client(0).requests(Kind::create_contender); }
  void fail_next_attempt() {
    lock_.world().fail_next(0, Kind::create_contender, Status::quota_exceeded);
  }
  /// Returns the time from now to the next attempt to contend.
  Duration pause() {
    const Instant from = lock_.world().now();
    const std::size_t before = attempts();
    EXPECT_TRUE(lock_.world().run_until([&] { return attempts() > before; }, 10s));
    return lock_.world().now() - from;
  }
  void run_until_it_leads() {
    ASSERT_TRUE(lock_.world().run_until([&] { return candidate_->leads(); }, 10s));
  }
  std::uint64_t leaderships() { return lock_.core(0).metrics().locks.at(0).leaderships; }
  /// A pause is shortened at random, by at most half of it.
  static void expect_about(Duration pause, Duration longest) {
    EXPECT_LE(pause, longest);
    EXPECT_GE(pause, longest / 2);
  }
  void expect_growing_pauses() {
    for (const Duration longest : {100ms, 200ms, 400ms, 800ms, 800ms}) {
      fail_next_attempt();  // the attempt at the end of this pause
      expect_about(pause(), longest);
      lock_.world().run_all();
    }
    lock_.world().client(0).clear_faults();
  }

  LockWorld lock_{1};
  std::shared_ptr<TestCandidate> candidate_;
};

TEST_F(CandidateTest, PauseOfLatch_GrowsUntilItLeads) {
  fail_next_attempt();
  contend(false);
  lock_.world().run_all();
  expect_growing_pauses();
  run_until_it_leads();
  fail_next_attempt();
  candidate_->interrupt();  // the candidate contends again
  lock_.world().run_all();
  expect_about(pause(), 100ms);
}

TEST_F(CandidateTest, LongestPause_IsNoShortOne) {
  fail_next_attempt();
  contend(false, std::chrono::milliseconds::max(), std::chrono::milliseconds::max());
  lock_.world().run_all();
  const std::size_t before = attempts();
  lock_.world().run_for(1h);
  EXPECT_EQ(attempts(), before);
}

TEST_F(CandidateTest, PauseOfElection_GrowsUntilLeadershipEndsWell) {
  fail_next_attempt();
  contend(true);
  lock_.world().run_all();
  expect_growing_pauses();
  run_until_it_leads();
  candidate_->finished(candidate_->leadership_state()->attempt(), core::LeaderEnd::threw);
  expect_about(pause(), 800ms);
  run_until_it_leads();
  const std::size_t before = attempts();
  candidate_->finished(candidate_->leadership_state()->attempt(), core::LeaderEnd::returned);
  EXPECT_GT(attempts(), before) << "without a pause";
  run_until_it_leads();
  candidate_->finished(candidate_->leadership_state()->attempt(), core::LeaderEnd::threw);
  expect_about(pause(), 100ms);
}

// The callback runs in no task of the outbox, or the end of the call would follow
// it.
TEST_F(CandidateTest, CallInStopCallback_EndsWithinIt) {
  contend(false);
  run_until_it_leads();
  int ended = 0;
  const auto call = acquire_path(lock_.path_lock(0), [&](const auto& /*outcome*/) { ++ended; });
  lock_.world().run_all();
  int ended_within = 0;
  const std::stop_callback on_end(candidate_->leadership_state()->end_token(), [&] {
    call->cancel();
    ended_within = ended;
  });
  candidate_->interrupt();
  EXPECT_EQ(ended_within, 1);
}

TEST_F(CandidateTest, Leadership_IsCounted) {
  contend(false);
  run_until_it_leads();
  EXPECT_EQ(leaderships(), 1U);
  candidate_->interrupt();
  run_until_it_leads();
  EXPECT_EQ(leaderships(), 2U);
}

TEST_F(CandidateTest, WithdrawnDuringGrant_CountsNoLeadership) {
  const auto path_lock = lock_.path_lock(0);
  std::shared_ptr<detail::Contender> holder;
  acquire_path(path_lock, [&](const auto& outcome) { holder = outcome.contender; });
  lock_.world().run_all();
  ASSERT_TRUE(holder);
  contend(false);
  lock_.world().run_all();
  {
    const detail::EngineLock lock(path_lock->entry());
    path_lock->after_unlock([this] { candidate_->withdraw(); });  // before the reply task
    holder->drop(core::CountKind::hold);                          // grants the candidate
  }
  lock_.world().run_all();
  EXPECT_FALSE(candidate_->leads());
  EXPECT_EQ(lock_.held(), 0U);
  EXPECT_EQ(leaderships(), 0U);
}

TEST_F(CandidateTest, TransactionMadeBefore_IsWrittenWhileTheNodeExists) {
  lock_.world().ensemble().create("/data", "0");
  contend(true);
  run_until_it_leads();
  const auto leadership_state = candidate_->leadership_state();
  const Leadership leadership = leadership_state->leadership();
  GuardedTransaction transaction(leadership);
  transaction.set("/data", "1");
  candidate_->withdraw();
  ASSERT_EQ(leadership.state(), HoldState::lost);

  std::optional<Errc> refused;
  const auto handler = [&](const std::exception_ptr& error) {
    refused.reset();
    try {
      if (error) std::rethrow_exception(error);
    } catch (const Error& e) {
      refused = e.errc();
    }
  };
  transaction.async_commit(handler);
  lock_.world().run_all();
  EXPECT_EQ(refused, std::nullopt);
  EXPECT_EQ(lock_.world().ensemble().find("/data")->data, "1");

  candidate_->finished(leadership_state->attempt(),
                       core::LeaderEnd::returned);  // the znode is deleted now
  lock_.world().run_all();
  transaction.async_commit(handler);
  lock_.world().run_all();
  EXPECT_EQ(refused, Errc::lock_lost);
  EXPECT_EQ(lock_.world().ensemble().find("/data")->version, 1);
}

TEST_F(CandidateTest, NoLeadership_HasEnded) {
  const Leadership none;
  EXPECT_EQ(none.state(), HoldState::lost);
  EXPECT_FALSE(none.is_valid());
  EXPECT_EQ(none.valid_until(), LeaseClock::time_point::min());
  EXPECT_EQ(none.node(), "");
  EXPECT_TRUE(none.end_token().stop_requested());
  EXPECT_FALSE(none.release_request_token().stop_possible());
  contend(false);
  run_until_it_leads();
  EXPECT_LT(none.token(), candidate_->leadership_state()->leadership().token());
}

}  // namespace
}  // namespace zklock::model
