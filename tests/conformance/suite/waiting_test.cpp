// SPDX-License-Identifier: Apache-2.0
// Calls that end without the lock, and leave nothing behind.
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <boost/thread/thread.hpp>
#include <gtest/gtest.h>

#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

class Waits : public SuiteTest {
 protected:
  Client& client_ = connect();
  Client& other_ = connect();
  const std::unique_ptr<SuiteLock> lock_ = make(client_);
  const std::unique_ptr<SuiteLock> others_ = make(other_);
  Grant blocking_ = rival_acquire(*others_);

  void TearDown() override {
    EXPECT_EQ(blocking_.state(), expected_);
    blocking_.release();
    SuiteTest::TearDown();
  }
  // Checks that only the holder's znode is left.
  void expect_only_the_holder() {
    EXPECT_TRUE(reaches_nodes(1));
    EXPECT_EQ(node_at(0), blocking_.node());
  }
  HoldState expected_ = HoldState::held;
};
INSTANTIATE_TEST_SUITE_P(, Waits,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(Waits, SingleAttempt_FailsAndLeavesNoNode) {
  EXPECT_FALSE(try_acquire(*lock_));
  auto attempt = async_acquire(*lock_, {.deadline = Deadline::passed()});
  EXPECT_FALSE(get(attempt));
  expect_only_the_holder();
}

TEST_P(Waits, EmptyHold_NamesTheHolder) {
  if (!adapter().calls) GTEST_SKIP() << "a leadership has none";
  auto timed = async_acquire(*lock_, {.deadline = environment().in(50ms)});
  std::vector<Grant> refused;
  refused.push_back(get_in_time(timed));
  refused.push_back(try_acquire(*lock_));
  const Deadline deadline = environment().in(kTestTimeout);
  for (const Grant& each : refused) {
    ASSERT_FALSE(each);
    const LockState state = each.blocked_by(deadline);
    ASSERT_EQ(state.holders.size(), 1U);
    EXPECT_EQ(state.holding, 1U);
    bool is_held = false;
    for (std::size_t i = 0; i < environment().ensembles(); ++i) {
      is_held = is_held || kPath + "/" + state.holders[0].node == blocking_.node(i);
    }
    EXPECT_TRUE(is_held) << state.holders[0].node;
  }
  EXPECT_EQ(blocking_.blocked_by(deadline), LockState()) << "it was granted";
}

TEST_P(Waits, Deadline_EndsCallAndLeavesNoNode) {
  const Deadline deadline = environment().in(200ms);
  auto blocked = in_thread([&] { return acquire(*lock_, {.deadline = deadline}); });
  auto asynchronous = async_acquire(*lock_, {.deadline = deadline});
  EXPECT_FALSE(get_in_time(blocked));
  EXPECT_FALSE(get_in_time(asynchronous));
  EXPECT_TRUE(deadline.has_passed(environment().now()));
  expect_only_the_holder();
}

TEST_P(Waits, TimedLock_ReturnsFalse) {
  if (!adapter().has_lock) GTEST_SKIP() << "has no lock()";
  auto locking = in_thread([&] { return lock_->lock_until(environment().in(100ms)); });
  EXPECT_FALSE(get_in_time(locking));
  EXPECT_FALSE(lock_->try_lock());
  EXPECT_FALSE(lock_->is_locked());
  EXPECT_EQ(error_of([&] { lock_->unlock(); }), Errc::not_owner);
  expect_only_the_holder();
}

TEST_P(Waits, StopBeforeCall_SendsNothing) {
  if (!adapter().calls) {
    GTEST_SKIP() << "contends all the same";
  }
  std::stop_source stop;
  stop.request_stop();
  auto stopped = async_acquire(*lock_, {.stop = stop.get_token()});
  EXPECT_FALSE(get(stopped));
  EXPECT_FALSE(acquire(*lock_, {.stop = stop.get_token()}));
  expect_only_the_holder();
  blocking_.release();
  expected_ = HoldState::lost;
  EXPECT_TRUE(becomes_empty());
  EXPECT_FALSE(acquire(*lock_, {.stop = stop.get_token()}));
  if (adapter().has_lock) {
    EXPECT_FALSE(lock_->lock_or_stop(stop.get_token()));
    EXPECT_FALSE(lock_->is_locked());
  }
}

TEST_P(Waits, StopWhileWaiting_LeavesQueue) {
  std::stop_source stop;
  auto asynchronous = async_acquire(*lock_, {.stop = stop.get_token()});
  ASSERT_TRUE(reaches_nodes(2));
  auto blocked = in_thread([&] { return acquire(*lock_, {.stop = stop.get_token()}); });
  ASSERT_TRUE(reaches_nodes(3));
  auto locking = in_thread([&] {
    return adapter().has_lock ? lock_->lock_or_stop(stop.get_token())
                              : static_cast<bool>(acquire(*lock_, {.stop = stop.get_token()}));
  });
  ASSERT_TRUE(reaches_nodes(4));
  EXPECT_FALSE(is_ready(asynchronous));
  stop.request_stop();
  EXPECT_FALSE(get(asynchronous));
  EXPECT_FALSE(get(blocked));
  EXPECT_FALSE(get(locking));
  expect_only_the_holder();
}

TEST_P(Waits, InterruptWhileWaiting_LeavesQueue) {
  if (!adapter().interrupts) GTEST_SKIP() << "no call of it waits";
  std::vector<std::function<void()>> calls{[this] { acquire(*lock_); }};
  if (adapter().has_lock) {
    calls.emplace_back([this] { lock_->lock(); });
    calls.emplace_back([this] { static_cast<void>(lock_->lock_or_stop({})); });
    calls.emplace_back([this] { lock_->lock_until(Deadline::never()); });
  }
  for (const auto& call : calls) {
    std::promise<bool> interrupted;
    boost::thread waiting([&] {
      try {
        call();
        interrupted.set_value(false);
      } catch (const boost::thread_interrupted&) {
        interrupted.set_value(true);
      } catch (...) {
        interrupted.set_exception(std::current_exception());
      }
    });
    EXPECT_TRUE(reaches_nodes(2));
    waiting.interrupt();
    auto end = interrupted.get_future();
    if (!environment().comes([&] { return is_ready(end); }))
      blocking_.release();  // or it never ends
    waiting.join();
    EXPECT_TRUE(get(end));
    expect_only_the_holder();
  }
}

TEST_P(Waits, StopAfterGrant_HoldIsRetained) {
  std::stop_source stop;
  auto waiting = async_acquire(*lock_, {.stop = stop.get_token()});
  ASSERT_TRUE(reaches_nodes(2));
  blocking_.release();
  expected_ = HoldState::lost;
  const auto hold = get(waiting);
  stop.request_stop();
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_FALSE(hold.loss_token().stop_requested());
  EXPECT_TRUE(environment().exists(hold.node()));
}

TEST_P(Waits, StopRacesWithGrant_GivesHoldOrLeavesNoNode) {
  blocking_.release();
  expected_ = HoldState::lost;
  for (int round = 0; round < 10; ++round) {
    auto holder = rival_acquire(*others_);
    std::stop_source stop;
    auto waiting = async_acquire(*lock_, {.stop = stop.get_token()});
    ASSERT_TRUE(reaches_nodes(2));
    auto releasing = in_thread([moved = std::move(holder)]() mutable { moved.release(); });
    stop.request_stop();
    get(releasing);
    const auto hold = get(waiting);
    if (hold) {
      EXPECT_EQ(hold.state(), HoldState::held);
      EXPECT_TRUE(environment().exists(hold.node()));
    } else {
      ASSERT_TRUE(becomes_empty());
    }
  }
}

// A contender in the middle leaves. The one behind it must not take that for a grant.
TEST_P(Waits, MiddleWaiterLeaves_NextIsNotGrantedEarly) {
  std::stop_source stop;
  auto leaving = rival_async_acquire(*lock_, {.stop = stop.get_token()});
  ASSERT_TRUE(reaches_nodes(2));
  auto behind = async_acquire(*lock_);
  ASSERT_TRUE(reaches_nodes(3));
  stop.request_stop();
  EXPECT_FALSE(get(leaving));
  ASSERT_TRUE(reaches_nodes(2));
  EXPECT_TRUE(client_.flush(kTestTimeout));
  EXPECT_EQ(lock_->participants().size(), 2U);  // one round trip
  EXPECT_FALSE(is_ready(behind));
  blocking_.release();
  expected_ = HoldState::lost;
  EXPECT_EQ(get(behind).state(), HoldState::held);
}

TEST_P(Waits, StopOfAsyncCall_CallsHandlerOnce) {
  std::stop_source stop;
  std::promise<bool> ended;
  std::atomic<int> calls{0};
  lock_->async_acquire({.stop = stop.get_token()},
                       [&](const Grant& hold, const std::exception_ptr& error) {
                         if (++calls == 1) ended.set_value(hold || error);
                       });
  ASSERT_TRUE(reaches_nodes(2));
  stop.request_stop();
  auto end = ended.get_future();
  EXPECT_FALSE(get(end));
  expect_only_the_holder();
  EXPECT_EQ(calls, 1);
}

// ---- on the simulation time is exact ------------------------------------------------------------

class ExactTime : public Waits {
 protected:
  // Enqueues with a deadline 300 ms from now.
  auto queue() {
    auto waiting = async_acquire(*lock_, {.deadline = environment().in(300ms)});
    EXPECT_TRUE(reaches_nodes(2));
    return waiting;
  }
};
INSTANTIATE_TEST_SUITE_P(, ExactTime,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(ExactTime, Deadline_EndsCallExactly) {
  auto waiting = queue();
  environment().pass(300ms - 1ns);
  EXPECT_FALSE(is_ready(waiting));
  EXPECT_EQ(environment().nodes().size(), 2U);
  environment().pass(1ns);
  ASSERT_TRUE(becomes_ready(waiting));
  EXPECT_FALSE(get(waiting));
  EXPECT_TRUE(reaches_nodes(1));
}

TEST_P(ExactTime, GrantJustBeforeDeadline_HoldIsRetained) {
  auto waiting = queue();
  environment().pass(300ms - 1ns);
  blocking_.release();
  expected_ = HoldState::lost;
  environment().settle();
  ASSERT_TRUE(becomes_ready(waiting));
  const auto hold = get(waiting);
  environment().pass(1s);
  EXPECT_EQ(hold.state(), HoldState::held);
}

TEST_P(ExactTime, DeadlineWithoutServers_EndsCallExactly) {
  if (!adapter().waits_without_servers) {
    GTEST_SKIP() << "gives up before";
  }
  auto waiting = queue();
  environment().stop_servers();
  environment().pass(300ms - 1ns);
  EXPECT_FALSE(is_ready(waiting));
  environment().pass(1ns);
  ASSERT_TRUE(becomes_ready(waiting));
  EXPECT_FALSE(get(waiting));
  environment().start_servers();
  EXPECT_TRUE(reaches_nodes(1));
}

TEST_P(ExactTime, DeadlineAfterSessionExpiry_EndsCallExactly) {
  auto waiting = queue();
  environment().pass(100ms);
  const std::string old = node_at(1);
  environment().expire(client_);
  ASSERT_TRUE(
      environment().comes([&] { return environment().nodes().size() == 2 && node_at(1) != old; }));
  environment().pass(200ms - 1ns);
  EXPECT_FALSE(is_ready(waiting));
  environment().pass(1ns);
  ASSERT_TRUE(becomes_ready(waiting));
  EXPECT_FALSE(get(waiting));
  EXPECT_TRUE(reaches_nodes(1));
}

// A hold lasts until its lease expires, to the nanosecond. No other contender is granted before.
TEST_P(ExactTime, NoServers_HoldIsLostExactlyAtLeaseEnd) {
  environment().pass(1s);
  environment().stop_servers();
  EXPECT_EQ(blocking_.state(), HoldState::suspended);
  const auto losses = LossCounter(blocking_);
  const auto left = blocking_.valid_until() - environment().now();
  EXPECT_GT(left, SuiteEnvironment::kSessionTimeout / 4);
  environment().pass(left - 1ns);
  EXPECT_EQ(blocking_.state(), HoldState::suspended);
  EXPECT_EQ(losses.count(), 0);
  environment().pass(1ns);
  EXPECT_EQ(blocking_.state(), HoldState::lost);
  EXPECT_TRUE(environment().comes([&] { return losses.count() == 1; }));
  expected_ = HoldState::lost;
  environment().start_servers();
}

// The server executes the create, but the client never receives the reply.
TEST_P(ExactTime, CreateReplyLost_CallHasOneNode) {
  std::atomic<int> breaks{0};
  const auto counter = client_.add_listener([&](ConnectionState state) {
    if (state == ConnectionState::suspended) ++breaks;
  });
  environment().lose_reply_to_create(client_);
  auto waiting = async_acquire(*lock_, {});
  EXPECT_TRUE(environment().comes([&] { return breaks == 1; }));
  EXPECT_EQ(environment().nodes().size(), 2U);
  const auto before = environment().nodes();
  environment().pass(1s);
  EXPECT_EQ(environment().nodes(), before);
  blocking_.release();
  expected_ = HoldState::lost;
  const auto next = get_in_time(waiting);
  EXPECT_EQ(next.state(), HoldState::held);
  if (adapter().keeps_node) {
    EXPECT_EQ(next.node(), kPath + "/" + before.at(1));
  }
}

}  // namespace
}  // namespace zklock::testing
