// SPDX-License-Identifier: Apache-2.0
// LeaderElection: it runs a function while it leads.
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/gate.h"
#include "conformance/leader_election_fixture.h"
#include "conformance/leader_fixture.h"
#include "conformance/log_capture.h"
#include "conformance/overlap_detector.h"

namespace zklock::testing {
namespace {

TEST_F(Election, WhileItLeads_FunctionRuns) {
  std::promise<Leadership> led;
  std::promise<HoldState> state;
  Gate gate;
  LeaderElection election(*client_, kPath, [&](Leadership& leadership) {
    state.set_value(leadership.state());
    GuardedTransaction(leadership).create(std::string(kPath) + "/by-the-leader", "1").commit();
    led.set_value(leadership);
    gate.pass();
    wait_for_the_end(leadership);
  });
  const Gate::Opener opener(gate);
  EXPECT_TRUE(chroot_.is_empty());
  EXPECT_FALSE(election.has_leadership());
  election.start();
  auto result = led.get_future();
  const Leadership leadership = get(result);
  EXPECT_EQ(state.get_future().get(), HoldState::held);
  EXPECT_TRUE(election.has_leadership());
  EXPECT_EQ(leadership.state(), HoldState::held);
  EXPECT_FALSE(leadership.end_token().stop_requested());
  EXPECT_EQ(raw().exists(leadership.node()).stat.czxid, leadership.token().zxid);
  const auto leader = election.leader(kTestTimeout);
  ASSERT_NE(leader, std::nullopt);
  EXPECT_EQ(leader->token, leadership.token());
  EXPECT_EQ(election.participants(kTestTimeout).size(), 1U);
  EXPECT_EQ(election.last_failure(), nullptr);
  EXPECT_EQ(election.error(), std::nullopt);
  gate.open();
  election.close();
  EXPECT_TRUE(leadership.end_token().stop_requested());
  EXPECT_EQ(leadership.state(), HoldState::lost);
  EXPECT_EQ(raw().delete_node(std::string(kPath) + "/by-the-leader"), ZOK);
  EXPECT_EQ(error_of([&] { GuardedTransaction tx(leadership); }), Errc::lock_lost);
  EXPECT_EQ(error_of([] { GuardedTransaction tx{Leadership()}; }), Errc::lock_lost);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Election, FunctionReturns_NextCandidateLeads) {
  std::vector<std::unique_ptr<LeaderElection>> elections;
  for (Client* const client : {client_.get(), other_.get()}) {
    elections.push_back(
        std::make_unique<LeaderElection>(*client, kPath, [this](const Leadership& leadership) {
          const OverlapDetector::Call call(overlaps_, leadership.token());
        }));
    elections.back()->start();
  }
  ASSERT_TRUE(overlaps_.reaches(50));  // each candidate contends again without a call
  for (const auto& election : elections) election->close();
  EXPECT_FALSE(overlaps_.overlapped());
  EXPECT_TRUE(overlaps_.tokens_rise());
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Election, SessionEnds_FunctionIsStoppedAndElectedAgain) {
  LeaderElection first(*client_, kPath, until_the_end());
  LeaderElection second(*other_, kPath, until_the_end());
  first.start();
  ASSERT_TRUE(overlaps_.reaches(1));
  second.start();
  ASSERT_TRUE(reaches_nodes(2));
  expire(*client_);
  ASSERT_TRUE(overlaps_.reaches(2));
  EXPECT_TRUE(eventually([&] { return second.has_leadership(); }, kTestTimeout));
  ASSERT_TRUE(reaches_nodes(2));
  expire(*other_);
  ASSERT_TRUE(overlaps_.reaches(3));
  EXPECT_TRUE(eventually([&] { return first.has_leadership(); }, kTestTimeout));
  EXPECT_TRUE(overlaps_.tokens_rise());
}

TEST_F(Election, FunctionThrows_NextCandidateLeads) {
  LogCapture log;
  ClientOptions logged = options();
  logged.logger = log.logger();
  const auto client = connect(logged);
  std::atomic<int> calls{0};
  LeaderElection first(*client, kPath, {.retry_delay_min = 1h, .retry_delay_max = 2h},
                       [&](const Leadership& leadership) {
                         const OverlapDetector::Call call(overlaps_, leadership.token());
                         ++calls;
                         throw std::runtime_error("the leader stumbles");
                       });
  LeaderElection second(*other_, kPath, until_the_end());
  first.start();
  ASSERT_TRUE(overlaps_.reaches(1));
  second.start();
  ASSERT_TRUE(overlaps_.reaches(2));
  EXPECT_TRUE(eventually([&] { return log.contains("the leader stumbles"); }, kTestTimeout));
  ASSERT_NE(first.last_failure(), nullptr);
  EXPECT_THROW(std::rethrow_exception(first.last_failure()), std::runtime_error);
  EXPECT_EQ(first.error(), std::nullopt);  // contention goes on
  EXPECT_FALSE(first.requeue());           // false: it contends again after the pause
  EXPECT_EQ(calls, 1);
}

// The exception belongs to the user. Its destructor may call the election, so it must run with no
// lock held.
TEST_F(Election, EarlierFailure_IsDestroyedWithNoLockHeld) {
  std::atomic<int> calls{0};
  std::atomic<int> died{0};
  std::atomic<bool> queries{true};
  LeaderElection election(*client_, kPath, {.retry_delay_min = 1ms, .retry_delay_max = 2ms},
                          [&](const Leadership& leadership) {
                            const OverlapDetector::Call call(overlaps_, leadership.token());
                            if (++calls == 3) return wait_for_the_end(leadership);
                            throw std::shared_ptr<void>(nullptr, [&](void*) {
                              if (queries) static_cast<void>(election.last_failure());
                              ++died;
                            });
                          });
  election.start();
  ASSERT_TRUE(overlaps_.reaches(3));
  EXPECT_TRUE(eventually([&] { return died == 1; }, kTestTimeout)) << "the second took its place";
  queries = false;
}

// ---- queueing by itself and on request ----------------------------------------------------------

TEST_F(Election, WithoutAutoRequeue_LeadsOncePerRequest) {
  LeaderElection election(*client_, kPath, {.auto_requeue = false},
                          [&](const Leadership& leadership) {
                            const OverlapDetector::Call call(overlaps_, leadership.token());
                          });
  election.start();
  ASSERT_TRUE(overlaps_.reaches(1));
  ASSERT_TRUE(becomes_empty());
  EXPECT_TRUE(eventually([&] { return election.requeue(); }, kTestTimeout));
  ASSERT_TRUE(overlaps_.reaches(2));
  ASSERT_TRUE(becomes_empty());
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(overlaps_.is_empty());
  EXPECT_EQ(overlaps_.calls(), 2U);
}

TEST_F(Election, RequeuedWhileItLeads_LeadsOnceMore) {
  std::atomic<int> calls{0};
  std::atomic<bool> first_said{false};
  std::atomic<bool> second_said{false};
  std::unique_ptr<LeaderElection> election;
  election = std::make_unique<LeaderElection>(
      *client_, kPath, ElectionOptions{.auto_requeue = false}, [&](const Leadership& leadership) {
        const OverlapDetector::Call call(overlaps_, leadership.token());
        if (++calls > 1) return;
        first_said = election->requeue();
        second_said = election->requeue();
      });
  election->start();
  ASSERT_TRUE(overlaps_.reaches(2));
  ASSERT_TRUE(becomes_empty());
  EXPECT_TRUE(first_said);
  EXPECT_FALSE(second_said);
  EXPECT_EQ(overlaps_.calls(), 2U);
  EXPECT_FALSE(overlaps_.overlapped());
}

TEST_F(Election, Interrupted_EndsTheCurrentLeadershipOnly) {
  LeaderElection election(*client_, kPath, until_the_end());
  election.interrupt();  // nothing to interrupt
  election.start();
  ASSERT_TRUE(overlaps_.reaches(1));
  EXPECT_FALSE(election.requeue());
  election.interrupt();
  ASSERT_TRUE(overlaps_.reaches(2));
  EXPECT_TRUE(eventually([&] { return election.has_leadership(); }, kTestTimeout));
  EXPECT_TRUE(overlaps_.tokens_rise());
  EXPECT_FALSE(overlaps_.overlapped());
}

TEST_F(Election, InterruptedWhileItsFunctionRuns_IsLost) {
  Gate gate;
  std::promise<Leadership> led;
  LeaderElection election(*client_, kPath, {.auto_requeue = false}, [&](Leadership& leadership) {
    led.set_value(leadership);
    gate.pass();
  });
  const Gate::Opener opener(gate);
  election.start();
  auto leads = led.get_future();
  const Leadership leadership = get(leads);
  EXPECT_EQ(leadership.state(), HoldState::held);
  election.interrupt();
  EXPECT_TRUE(leadership.end_token().stop_requested());
  EXPECT_FALSE(election.has_leadership());
  EXPECT_EQ(leadership.state(), HoldState::lost);
  EXPECT_EQ(leadership.valid_until(), LeaseClock::time_point::min());
  EXPECT_EQ(error_of([&] { leadership.proclaim("late"); }), Errc::lock_lost);
  EXPECT_EQ(error_of([&] { GuardedTransaction(leadership).commit(); }), Errc::lock_lost);
  EXPECT_TRUE(reaches_nodes(1)) << "the function has not returned";
}

// interrupt() comes at various moments around the start of the function.
TEST_F(Election, InterruptedBeforeItsFunctionBegins_IsElectedAgain) {
  for (int round = 0; round < 50; ++round) {
    std::promise<void> called;
    std::atomic<bool> first{true};
    LeaderElection election(*client_, kPath, {.auto_requeue = false}, [&](Leadership&) {
      if (first.exchange(false)) called.set_value();
    });
    election.start();
    while (!election.has_leadership() && first) std::this_thread::yield();
    election.interrupt();
    auto calls = called.get_future();
    ASSERT_NO_THROW(get(calls)) << "the turn was used up without a call, round " << round;
  }
}

TEST_F(Election, InvalidInput_IsRefusedByTheConstructor) {
  const auto make = [&](const std::string& path, LeaderElection::Function function,
                        ElectionOptions election_options = {}) {
    return error_of([&] {
      return LeaderElection(*client_, path, election_options, std::move(function)).path();
    });
  };
  EXPECT_EQ(make("lock", until_the_end()), Errc::invalid_path);
  EXPECT_EQ(make(kPath, {}), Errc::invalid_option);
  EXPECT_EQ(make(kPath, until_the_end(), {.retry_delay_min = 0ms}), Errc::invalid_option);
  EXPECT_EQ(make(kPath, until_the_end()), std::nullopt);
  client_->close();
  EXPECT_EQ(make(kPath, until_the_end()), Errc::closed);
}

TEST_F(Election, LatchAtTheSamePath_ElectionLeadsAfterItsClose) {
  const auto latch = leading_latch(*client_);
  LeaderElection election(*other_, kPath, until_the_end());
  election.start();
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_EQ(overlaps_.calls(), 0U);
  const FencingToken token = latch->token();
  latch->close();
  ASSERT_TRUE(overlaps_.reaches(1));
  EXPECT_GT(election.leader(kTestTimeout)->token, token);
}

// ---- unreachable servers ------------------------------------------------------------------------

class ElectionOnItsServer : public LeaderTest<OwnServerTest> {};

TEST_F(ElectionOnItsServer, StartedBeforeTheServer_LeadsLater) {
  server_.kill();
  LogCapture log;
  ClientOptions impatient = options();
  impatient.connection_timeout = 100ms;
  impatient.logger = log.logger();
  Client client(impatient);
  OverlapDetector overlaps;
  LeaderElection election(client, kPath, {.retry_delay_min = 1ms, .retry_delay_max = 50ms},
                          [&](const Leadership& leadership) {
                            const OverlapDetector::Call call(overlaps, leadership.token());
                            wait_for_the_end(leadership);
                          });
  election.start();
  ASSERT_TRUE(eventually([&] { return log.contains("lead /lock: "); }, kTestTimeout));
  start_again();
  EXPECT_TRUE(overlaps.reaches(1));
  kill_and_restart();
  // The session may have survived or ended.
  EXPECT_TRUE(eventually([&] { return election.has_leadership(); }, kTestTimeout));
  election.close();
  EXPECT_TRUE(client.flush(kTestTimeout));
  EXPECT_TRUE(becomes_empty());
  EXPECT_FALSE(overlaps.overlapped());
}

}  // namespace
}  // namespace zklock::testing
