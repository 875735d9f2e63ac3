// SPDX-License-Identifier: Apache-2.0
// LeaderElection: it runs a function while it leads, and ends at any moment.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/chronicle.h"
#include "conformance/gate.h"
#include "conformance/leader_fixture.h"
#include "conformance/lock_test.h"
#include "conformance/log_capture.h"

namespace zklock::testing {
namespace {

// Detects whether functions of several elections on one path overlap.
class OverlapDetector {
 public:
  // The lifetime of one function call.
  class Call {
   public:
    Call(OverlapDetector& detector, FencingToken token) : detector_(detector) {
      if (++detector_.inside_ > 1) detector_.overlapped_ = true;
      detector_.tokens_.add(token);
    }
    ~Call() { --detector_.inside_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    OverlapDetector& detector_;
  };

  bool reaches(std::size_t calls) const { return tokens_.reaches(calls); }
  std::size_t calls() const { return tokens_.size(); }
  bool is_empty() const {
    return eventually([this] { return inside_ == 0; }, kTestTimeout);
  }
  bool overlapped() const { return overlapped_; }
  bool tokens_rise() const {
    const auto tokens = tokens_.all();
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (tokens[i] <= tokens[i - 1]) return false;
    }
    return true;
  }

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> overlapped_{false};
  Chronicle<FencingToken> tokens_;
};

// Blocks until the leadership has ended.
void wait_for_the_end(const Leadership& leadership) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, leadership.end_token(), [] { return false; });
}

class Election : public LeaderTest<LockTest> {
 protected:
  // Returns a function that leads until its leadership ends.
  LeaderElection::Function until_the_end() {
    return [this](const Leadership& leadership) {
      const OverlapDetector::Call call(overlaps_, leadership.token());
      wait_for_the_end(leadership);
    };
  }

  OverlapDetector overlaps_;
  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
};

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

// The znode remains until the function has returned, so no other candidate leads before.
TEST_F(Election, EndedByACallWhileItsFunctionRuns_IsLost) {
  using End = void (*)(LeaderElection&);
  for (const End end : {End([](LeaderElection& e) { e.interrupt(); }),
                        End([](LeaderElection& e) { e.withdraw(); })}) {
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
    std::vector<std::thread::id> ended;
    const std::stop_callback on_end(leadership.end_token(),
                                    [&ended] { ended.push_back(std::this_thread::get_id()); });
    end(election);
    EXPECT_EQ(ended, std::vector{std::this_thread::get_id()});
    EXPECT_FALSE(election.has_leadership());
    EXPECT_EQ(leadership.state(), HoldState::lost);
    EXPECT_EQ(leadership.valid_until(), LeaseClock::time_point::min());
    EXPECT_EQ(error_of([&] { leadership.proclaim("late"); }), Errc::lock_lost);
    EXPECT_EQ(error_of([&] { GuardedTransaction(leadership).commit(); }), Errc::lock_lost);
    EXPECT_TRUE(client_->flush(kTestTimeout)) << "no delete is in flight";
    EXPECT_EQ(raw().exists(leadership.node()).rc, ZOK);
    gate.open();
    EXPECT_TRUE(becomes_empty());
  }
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

TEST_F(Election, Withdrawn_LeavesTheQueueUntilItIsRequeued) {
  LeaderElection first(*client_, kPath, until_the_end());
  LeaderElection second(*other_, kPath, until_the_end());
  first.start();
  ASSERT_TRUE(overlaps_.reaches(1));
  second.start();
  ASSERT_TRUE(reaches_nodes(2));
  second.withdraw();  // while it waits
  ASSERT_TRUE(reaches_nodes(1));
  EXPECT_TRUE(second.requeue());
  ASSERT_TRUE(reaches_nodes(2));
  first.withdraw();  // while it leads
  ASSERT_TRUE(overlaps_.reaches(2));
  EXPECT_TRUE(reaches_nodes(1));
  EXPECT_TRUE(eventually([&] { return second.has_leadership(); }, kTestTimeout));
  EXPECT_FALSE(second.requeue());  // false: it is enqueued already
  EXPECT_TRUE(first.requeue());
  EXPECT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(overlaps_.overlapped());
}

TEST_F(Election, FunctionRuns_CloseWaitsForIt) {
  Gate gate;
  std::atomic<bool> called{false};
  std::atomic<bool> returned{false};
  LeaderElection election(*client_, kPath, [&](const Leadership& leadership) {
    called = true;
    wait_for_the_end(leadership);
    gate.pass();
    returned = true;
  });
  std::future<void> closing;
  std::future<void> closing_too;
  const Gate::Opener opener(gate);
  election.start();
  ASSERT_TRUE(eventually([&] { return called.load(); }, kTestTimeout));
  EXPECT_TRUE(election.has_leadership());
  closing = in_thread([&] { election.close(); });
  closing_too = in_thread([&] { election.close(); });
  ASSERT_TRUE(gate.reached_by(1));  // its leadership has ended
  EXPECT_FALSE(election.has_leadership());
  EXPECT_FALSE(is_ready(closing));
  EXPECT_FALSE(is_ready(closing_too));
  EXPECT_EQ(nodes().size(), 1U);
  gate.open();
  get(closing);
  get(closing_too);
  EXPECT_TRUE(returned);
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(nothing_is_left());
  EXPECT_EQ(error_of([&] { election.start(); }), Errc::closed);
  EXPECT_EQ(error_of([&] { return election.requeue(); }), Errc::closed);
  EXPECT_EQ(election.error()->errc(), Errc::closed);
}

TEST_F(Election, FunctionClosesTheElection_ZnodeRemainsUntilReturn) {
  std::promise<bool> node_is_there;
  std::unique_ptr<LeaderElection> election;
  election = std::make_unique<LeaderElection>(*client_, kPath, [&](const Leadership& leadership) {
    const OverlapDetector::Call call(overlaps_, leadership.token());
    election->close();
    EXPECT_TRUE(leadership.end_token().stop_requested());
    EXPECT_EQ(leadership.state(), HoldState::lost);
    node_is_there.set_value(raw().exists(leadership.node()).rc == ZOK);
  });
  election->start();
  auto result = node_is_there.get_future();
  EXPECT_TRUE(get(result));  // the znode exists until the function returns
  election->close();
  EXPECT_TRUE(overlaps_.is_empty());
  EXPECT_TRUE(becomes_empty());
  EXPECT_EQ(overlaps_.calls(), 1U);
}

TEST_F(Election, FunctionDestroysTheElection_ZnodeIsDeleted) {
  // The witness lives as long as the function object.
  auto witness = std::make_shared<int>(0);
  const std::weak_ptr<int> function_lives = witness;
  auto election = std::make_shared<std::unique_ptr<LeaderElection>>();
  Gate gate;
  *election = std::make_unique<LeaderElection>(*client_, kPath,
                                               [election, witness, &gate](const Leadership&) {
                                                 gate.pass();
                                                 election->reset();
                                               });
  const Gate::Opener opener(gate);
  (*election)->start();
  witness.reset();
  ASSERT_TRUE(gate.reached_by(1));
  gate.open();
  EXPECT_TRUE(eventually([&] { return function_lives.expired(); }, kTestTimeout));
  EXPECT_TRUE(becomes_empty());
}

TEST_F(Election, DestroyedAtAnyMoment_LeavesNoZnode) {
  for (int i = 0; i < 50; ++i) {
    LeaderElection first(*client_, kPath, until_the_end());
    LeaderElection second(*other_, kPath, until_the_end());
    const std::size_t calls = overlaps_.calls();
    if (i % 5 != 0) first.start();
    second.start();
    if (i % 5 == 1) static_cast<void>(nodes());  // a round trip later
    if (i % 5 == 2) {
      ASSERT_TRUE(overlaps_.reaches(calls + 1));
    }
    if (i % 5 == 3) first.interrupt();
    if (i % 5 == 4) second.withdraw();
  }
  EXPECT_TRUE(overlaps_.is_empty());
  EXPECT_TRUE(client_->flush(kTestTimeout));
  EXPECT_TRUE(other_->flush(kTestTimeout));
  EXPECT_TRUE(nothing_is_left());
  EXPECT_FALSE(overlaps_.overlapped());
  EXPECT_TRUE(is_free());
}

}  // namespace
}  // namespace zklock::testing
