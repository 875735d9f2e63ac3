// SPDX-License-Identifier: Apache-2.0
// How a call that waits ends without the lock, and that nothing of it is left.
#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

template <class P>
class Waits : public SuiteTest<P> {
 protected:
  using typename SuiteTest<P>::Grant;
  using typename SuiteTest<P>::Lock;

  Client& client_ = this->connect();
  Client& other_ = this->connect();
  const std::unique_ptr<Lock> lock_ = this->make(client_);
  const std::unique_ptr<Lock> others_ = this->make(other_);
  Grant blocking_ = this->rival_acquire(*others_);

  void TearDown() override {
    EXPECT_EQ(blocking_.state(), expected_);
    blocking_.release();
    SuiteTest<P>::TearDown();
  }
  // The lock is as it was before the call.
  void expect_only_the_holder() {
    EXPECT_TRUE(this->reaches_nodes(1));
    EXPECT_EQ(this->node_at(0), blocking_.node());
  }
  HoldState expected_ = HoldState::held;
};
using EveryPairing = EveryClassOn<RealStage, FakeStage>;
TYPED_TEST_SUITE(Waits, EveryPairing, PairingName);

TYPED_TEST(Waits, ASingleAttemptFailsAndLeavesNoNode) {
  EXPECT_FALSE(static_cast<bool>(this->try_acquire(*this->lock_)));
  auto attempt = this->async_acquire(*this->lock_, {.deadline = Deadline::passed()});
  EXPECT_FALSE(static_cast<bool>(get(attempt)));
  this->expect_only_the_holder();
}

TYPED_TEST(Waits, TheDeadlineEndsItAndTheNodeGoes) {
  const Deadline deadline = this->stage().in(200ms);
  auto blocked =
      this->in_thread([&] { return this->acquire(*this->lock_, {.deadline = deadline}); });
  auto asynchronous = this->async_acquire(*this->lock_, {.deadline = deadline});
  EXPECT_FALSE(static_cast<bool>(this->get_in_time(blocked)));
  EXPECT_FALSE(static_cast<bool>(this->get_in_time(asynchronous)));
  EXPECT_TRUE(deadline.has_passed(this->stage().now()));
  this->expect_only_the_holder();
}

TYPED_TEST(Waits, ATimedLockIsFalse) {
  using Face = typename TestFixture::TestedFace;
  if constexpr (HasLockAndUnlock<Face>) {
    auto locking =
        this->in_thread([&] { return Face::lock_until(*this->lock_, this->stage().in(100ms)); });
    EXPECT_FALSE(this->get_in_time(locking));
    EXPECT_FALSE(Face::try_lock(*this->lock_));
    EXPECT_FALSE(Face::is_locked(*this->lock_));
    EXPECT_EQ(error_of([&] { Face::unlock(*this->lock_); }), Errc::not_owner);
    this->expect_only_the_holder();
  } else {
    GTEST_SKIP() << "has no lock()";
  }
}

TYPED_TEST(Waits, AStopBeforeTheCallSendsNothing) {
  if (!TestFixture::TestedFace::calls) {
    GTEST_SKIP() << "contends all the same";
  }
  std::stop_source stop;
  stop.request_stop();
  auto stopped = this->async_acquire(*this->lock_, {.stop = stop.get_token()});
  EXPECT_FALSE(static_cast<bool>(get(stopped)));
  EXPECT_FALSE(static_cast<bool>(this->acquire(*this->lock_, {.stop = stop.get_token()})));
  this->expect_only_the_holder();
  this->blocking_.release();
  this->expected_ = HoldState::lost;
  EXPECT_TRUE(this->becomes_empty());
  EXPECT_FALSE(static_cast<bool>(this->acquire(*this->lock_, {.stop = stop.get_token()})));
}

TYPED_TEST(Waits, AStopTakesItOutOfTheQueue) {
  std::stop_source stop;
  auto asynchronous = this->async_acquire(*this->lock_, {.stop = stop.get_token()});
  ASSERT_TRUE(this->reaches_nodes(2));
  auto blocked =
      this->in_thread([&] { return this->acquire(*this->lock_, {.stop = stop.get_token()}); });
  ASSERT_TRUE(this->reaches_nodes(3));
  EXPECT_FALSE(is_ready(asynchronous));
  stop.request_stop();
  EXPECT_FALSE(static_cast<bool>(get(asynchronous)));
  EXPECT_FALSE(static_cast<bool>(get(blocked)));
  this->expect_only_the_holder();
}

TYPED_TEST(Waits, AStopAfterTheGrantChangesNothing) {
  std::stop_source stop;
  auto waiting = this->async_acquire(*this->lock_, {.stop = stop.get_token()});
  ASSERT_TRUE(this->reaches_nodes(2));
  this->blocking_.release();
  this->expected_ = HoldState::lost;
  const auto hold = get(waiting);
  stop.request_stop();
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_TRUE(this->stage().exists(hold.node()));
}

TYPED_TEST(Waits, AStopAtTheMomentOfTheGrantIsAHoldOrNoNode) {
  this->blocking_.release();
  this->expected_ = HoldState::lost;
  for (int round = 0; round < 10; ++round) {
    auto holder = this->rival_acquire(*this->others_);
    std::stop_source stop;
    auto waiting = this->async_acquire(*this->lock_, {.stop = stop.get_token()});
    ASSERT_TRUE(this->reaches_nodes(2));
    auto releasing = this->in_thread([moved = std::move(holder)]() mutable { moved.release(); });
    stop.request_stop();
    get(releasing);
    const auto hold = get(waiting);
    if (hold) {
      EXPECT_EQ(hold.state(), HoldState::held);
      EXPECT_TRUE(this->stage().exists(hold.node()));
    } else {
      ASSERT_TRUE(this->becomes_empty());
    }
  }
}

// One in the middle goes: the one behind it must not take that for its turn.
TYPED_TEST(Waits, WhoLeavesMakesNobodyJumpTheQueue) {
  std::stop_source stop;
  auto leaving = this->rival_async_acquire(*this->lock_, {.stop = stop.get_token()});
  ASSERT_TRUE(this->reaches_nodes(2));
  auto behind = this->async_acquire(*this->lock_);
  ASSERT_TRUE(this->reaches_nodes(3));
  stop.request_stop();
  EXPECT_FALSE(static_cast<bool>(get(leaving)));
  ASSERT_TRUE(this->reaches_nodes(2));
  EXPECT_TRUE(this->client_.flush(kPatience));
  EXPECT_EQ(TestFixture::TestedFace::participants(*this->lock_).size(), 2U);  // a round trip
  EXPECT_FALSE(is_ready(behind));
  this->blocking_.release();
  this->expected_ = HoldState::lost;
  EXPECT_EQ(get(behind).state(), HoldState::held);
}

TYPED_TEST(Waits, AHandlerHearsOnceOfAnEndWithoutTheLock) {
  std::stop_source stop;
  std::promise<bool> ended;
  std::atomic<int> calls{0};
  TestFixture::TestedFace::async_acquire(
      *this->lock_, {.stop = stop.get_token()},
      [&](const typename TestFixture::Grant& hold, const std::exception_ptr& error) {
        if (++calls == 1) ended.set_value(hold || error);
      });
  ASSERT_TRUE(this->reaches_nodes(2));
  stop.request_stop();
  auto end = ended.get_future();
  EXPECT_FALSE(get(end));
  this->expect_only_the_holder();
  EXPECT_EQ(calls, 1);
}

// ---- on the simulation time is exact ------------------------------------------------------------

template <class P>
class ExactTime : public Waits<P> {
 protected:
  // Queues with a deadline 300 ms from now.
  auto queue() {
    auto waiting = this->async_acquire(*this->lock_, {.deadline = this->stage().in(300ms)});
    EXPECT_TRUE(this->reaches_nodes(2));
    return waiting;
  }
};
using OnSimulation = EveryClassOn<FakeStage>;
TYPED_TEST_SUITE(ExactTime, OnSimulation, PairingName);

TYPED_TEST(ExactTime, OfADeadline) {
  auto waiting = this->queue();
  this->stage().pass(300ms - 1ns);
  EXPECT_FALSE(is_ready(waiting));
  EXPECT_EQ(this->stage().nodes().size(), 2U);
  this->stage().pass(1ns);
  ASSERT_TRUE(this->becomes_ready(waiting));
  EXPECT_FALSE(static_cast<bool>(get(waiting)));
  EXPECT_TRUE(this->reaches_nodes(1));
}

TYPED_TEST(ExactTime, OfAGrantAtTheLastMoment) {
  auto waiting = this->queue();
  this->stage().pass(300ms - 1ns);
  this->blocking_.release();
  this->expected_ = HoldState::lost;
  this->stage().settle();
  ASSERT_TRUE(this->becomes_ready(waiting));
  const auto hold = get(waiting);
  this->stage().pass(1s);
  EXPECT_EQ(hold.state(), HoldState::held);
}

TYPED_TEST(ExactTime, OfADeadlineWithoutServers) {
  if (!TestFixture::TestedFace::waits_without_servers) {
    GTEST_SKIP() << "gives up before";
  }
  auto waiting = this->queue();
  this->stage().stop_servers();
  this->stage().pass(300ms - 1ns);
  EXPECT_FALSE(is_ready(waiting));
  this->stage().pass(1ns);
  ASSERT_TRUE(this->becomes_ready(waiting));
  EXPECT_FALSE(static_cast<bool>(get(waiting)));
  this->stage().start_servers();
  EXPECT_TRUE(this->reaches_nodes(1));
}

TYPED_TEST(ExactTime, OfADeadlineThatOutlivesASession) {
  auto waiting = this->queue();
  this->stage().pass(100ms);
  const std::string old = this->node_at(1);
  this->stage().expire(this->client_);
  ASSERT_TRUE(this->stage().comes(
      [&] { return this->stage().nodes().size() == 2 && this->node_at(1) != old; }));
  this->stage().pass(200ms - 1ns);
  EXPECT_FALSE(is_ready(waiting));
  this->stage().pass(1ns);
  ASSERT_TRUE(this->becomes_ready(waiting));
  EXPECT_FALSE(static_cast<bool>(get(waiting)));
  EXPECT_TRUE(this->reaches_nodes(1));
}

// A hold outlives what is left of its lease, to the nanosecond, and nobody else is granted within.
TYPED_TEST(ExactTime, OfALease) {
  this->stage().pass(1s);
  this->stage().stop_servers();
  EXPECT_EQ(this->blocking_.state(), HoldState::suspended);
  const auto told = Told(this->blocking_);
  const auto left = this->blocking_.valid_until() - this->stage().now();
  EXPECT_GT(left, TestFixture::OwnStage::kSessionTimeout / 4);
  this->stage().pass(left - 1ns);
  EXPECT_EQ(this->blocking_.state(), HoldState::suspended);
  EXPECT_EQ(told.lost(), 0);
  this->stage().pass(1ns);
  EXPECT_EQ(this->blocking_.state(), HoldState::lost);
  EXPECT_TRUE(this->stage().comes([&] { return told.lost() == 1; }));
  this->expected_ = HoldState::lost;
  this->stage().start_servers();
}

TYPED_TEST(ExactTime, OfAMaximumHold) {
  if (!TestFixture::TestedFace::calls) {
    GTEST_SKIP() << "a leadership has none";
  }
  this->blocking_.release();
  this->expected_ = HoldState::lost;
  EXPECT_EQ(error_of([&] { return this->acquire(*this->lock_, {.max_hold = 0ms}); }),
            Errc::invalid_option);
  auto first = this->acquire(*this->lock_, {.max_hold = 400ms});
  const auto told = Told(first);
  this->stage().pass(400ms - 1ns);
  EXPECT_EQ(first.state(), HoldState::held);
  EXPECT_EQ(told.lost(), 0);
  this->stage().pass(1ns);
  EXPECT_EQ(first.state(), HoldState::lost);
  EXPECT_TRUE(this->stage().comes([&] { return told.lost() == 1; }));
  auto next = this->rival_async_acquire(*this->others_);
  EXPECT_EQ(this->get_in_time(next).state(), HoldState::held);
}

// The servers carried the create out, and the client does not hear of it.
TYPED_TEST(ExactTime, OneNodeForEachCallWhenRepliesAreLost) {
  this->stage().lose_reply_to_create(this->client_);
  auto waiting = this->async_acquire(*this->lock_, {});
  EXPECT_TRUE(this->stage().comes([&] { return !this->client_.is_connected(); }));
  EXPECT_EQ(this->stage().nodes().size(), 2U);
  const auto before = this->stage().nodes();
  this->stage().start_servers();
  this->stage().pass(1s);
  EXPECT_EQ(this->stage().nodes(), before);
  this->blocking_.release();
  this->expected_ = HoldState::lost;
  const auto next = this->get_in_time(waiting);
  EXPECT_EQ(next.state(), HoldState::held);
  if (TestFixture::TestedFace::keeps_node) {
    EXPECT_EQ(next.node(), kPath + "/" + before.at(1));
  }
}

}  // namespace
}  // namespace zklock::testing
