// SPDX-License-Identifier: Apache-2.0
// The events of a lock listener: exactly these, in this order.
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/event_recorder.h"
#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

class Events : public SuiteTest {
 protected:
  using Texts = std::vector<std::string>;

  // Checks that no event followed the last expected one, also after the lock was destroyed.
  void TearDown() override {
    SuiteTest::TearDown();
    lock_.reset();
    EXPECT_TRUE(recorder_.exactly_ignoring_connection(last_, elsewhere_)) << recorder_;
  }
  // Acquires by a lock object with the listener.
  Grant acquire_recorded(SuiteLock& lock, AcquireOptions options = {}) {
    return recorder_.granted(acquire(lock, std::move(options)));
  }
  std::unique_ptr<SuiteLock> lock_with_listener(CohortOptions options = {}) {
    options.listener = recorder_.listener();
    return make(client_, options);
  }
  ::testing::AssertionResult receives(const Texts& expected) {
    return receives(expected, expected);
  }
  ::testing::AssertionResult receives(const Texts& expected, const Texts& elsewhere) {
    last_ = expected;
    elsewhere_ = elsewhere;
    if (recorder_.exactly(expected, elsewhere)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "received: " << recorder_;
  }
  ::testing::AssertionResult receives_loss(const Texts& expected, const Texts& elsewhere) {
    last_ = expected;
    elsewhere_ = elsewhere;
    if (recorder_.exactly_ignoring_connection(expected, elsewhere)) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "received: " << recorder_;
  }

  EventRecorder recorder_{adapter()};
  Texts last_;
  Texts elsewhere_;
  Client& client_ = connect();
  std::unique_ptr<SuiteLock> lock_ = lock_with_listener();
  const std::unique_ptr<SuiteLock> others_ = make(connect());
};
INSTANTIATE_TEST_SUITE_P(, Events,
                         ::testing::ValuesIn(every_class_on({EnvironmentKind::servers,
                                                             EnvironmentKind::simulation})),
                         pairing_name);

TEST_P(Events, GrantAndRelease_SendAcquiredAndReleased) {
  const Owner owner = Owner::unique();
  auto hold = acquire_recorded(*lock_, {.owner = owner});
  const FencingToken token = hold.token();
  if (adapter().nests) {
    const auto nested = acquire(*lock_, {.owner = owner});
    EXPECT_TRUE(nested);
  }
  EXPECT_TRUE(receives({"acquired"}));
  hold.release();
  EXPECT_TRUE(receives({"acquired", "released"}));
  for (const LockEvent& event : recorder_.events()) {
    EXPECT_EQ(event.path, kPath);
    EXPECT_EQ(event.token, token);
    if (adapter().named) {
      EXPECT_EQ(event.owner, owner);
    }
  }
}

TEST_P(Events, PositionChanges_SendWaitingEvents) {
  auto holder = rival_acquire(*others_);
  std::stop_source stop;
  auto between = rival_async_acquire(*others_, {.stop = stop.get_token()});
  ASSERT_TRUE(reaches_nodes(2));
  auto waiting = async_acquire(*lock_);
  ASSERT_TRUE(reaches_nodes(3));
  EXPECT_TRUE(receives({"waiting 2"}));
  stop.request_stop();
  EXPECT_FALSE(get(between));
  EXPECT_TRUE(receives({"waiting 2", "waiting 1"}));
  holder.release();
  auto hold = recorder_.granted(get(waiting));
  EXPECT_TRUE(receives({"waiting 2", "waiting 1", "acquired"}));
  if (adapter().keeps_node) {
    EXPECT_EQ(recorder_.events().front().token, hold.token());
  }
  hold.release();
  EXPECT_TRUE(receives({"waiting 2", "waiting 1", "acquired", "released"}));
}

TEST_P(Events, NoGrant_SendsNoReleased) {
  auto holder = rival_acquire(*others_);
  EXPECT_FALSE(try_acquire(*lock_));
  auto timed = async_acquire(*lock_, {.deadline = environment().in(100ms)});
  EXPECT_FALSE(get_in_time(timed));
  EXPECT_TRUE(receives({"waiting 1"}, {}));
  holder.release();
  ASSERT_TRUE(becomes_empty());
  auto hold = acquire_recorded(*lock_);
  EXPECT_TRUE(receives({"waiting 1", "acquired"}, {"acquired"}));
  hold.release();
  EXPECT_TRUE(receives({"waiting 1", "acquired", "released"}));
}

TEST_P(Events, MaxHoldElapsed_SendsExpiringAndExpired) {
  if (!adapter().calls) GTEST_SKIP() << "a leadership has none";
  // On servers the warning comes long before the end. An event that is delayed until the end is
  // dropped.
  const auto lock =
      lock_with_listener({.max_hold = environment().simulated() ? 400ms : 1000ms,
                          .expiry_notice = environment().simulated() ? 100ms : 950ms});
  auto hold = acquire_recorded(*lock);
  if (environment().simulated()) {
    EXPECT_TRUE(receives({"acquired"}));
    environment().pass(300ms - 1ns);
    EXPECT_TRUE(receives({"acquired"}));
    environment().pass(1ns);
    EXPECT_TRUE(receives({"acquired", "expiring"}));
    environment().pass(100ms - 1ns);
    EXPECT_TRUE(receives({"acquired", "expiring"}));
    environment().pass(1ns);
  }
  EXPECT_TRUE(receives({"acquired", "expiring", "expired"}));
  EXPECT_EQ(hold.state(), HoldState::lost);
  hold.release();
  EXPECT_TRUE(receives({"acquired", "expiring", "expired"}));
}

TEST_P(Events, NodeDeleted_SendsLostNotReleased) {
  auto hold = acquire_recorded(*lock_);
  auto next = rival_async_acquire(*others_);
  ASSERT_TRUE(reaches_nodes(2));
  remove_nodes_of(hold);
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(receives({"acquired", "lost"}, {"acquired"}));
  hold.release();
  EXPECT_EQ(get_in_time(next).state(), HoldState::held);
  EXPECT_TRUE(receives({"acquired", "lost"}, {"acquired", "released"}));
}

TEST_P(Events, LockDestroyed_SendsNothingMore) {
  if (!adapter().calls) GTEST_SKIP() << "its hold keeps the candidate";
  auto hold = acquire_recorded(*lock_);
  EXPECT_TRUE(receives({"acquired"}));
  lock_.reset();
  hold.release();
  EXPECT_TRUE(becomes_empty());
  EXPECT_TRUE(receives({"acquired"}));
}

TEST_P(Events, SessionExpired_SendsLostNotReleased) {
  auto hold = acquire_recorded(*lock_);
  auto next = rival_async_acquire(*others_);
  ASSERT_TRUE(reaches_nodes(2));
  environment().expire(client_);
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(receives_loss({"acquired", "lost"}, {"acquired", "lost"}));
  hold.release();
  EXPECT_EQ(get_in_time(next).state(), HoldState::held);
  EXPECT_TRUE(receives_loss({"acquired", "lost"}, {"acquired", "lost"}));
}

}  // namespace
}  // namespace zklock::testing
