// SPDX-License-Identifier: Apache-2.0
// The events of a lock listener: exactly these, in this order.
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/heard.h"
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
    EXPECT_TRUE(heard_.exactly_but_for_the_connection(last_, elsewhere_)) << heard_;
  }
  // Acquires by a lock object with the listener.
  Grant acquire_heard(SuiteLock& lock, AcquireOptions options = {}) {
    return heard_.granted(acquire(lock, std::move(options)));
  }
  std::unique_ptr<SuiteLock> listened(CohortOptions options = {}) {
    options.listener = heard_.listener();
    return make(client_, options);
  }
  ::testing::AssertionResult hears(const Texts& expected) { return hears(expected, expected); }
  ::testing::AssertionResult hears(const Texts& expected, const Texts& elsewhere) {
    last_ = expected;
    elsewhere_ = elsewhere;
    if (heard_.exactly(expected, elsewhere)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "heard: " << heard_;
  }
  ::testing::AssertionResult hears_of_a_loss(const Texts& expected, const Texts& elsewhere) {
    last_ = expected;
    elsewhere_ = elsewhere;
    if (heard_.exactly_but_for_the_connection(expected, elsewhere)) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "heard: " << heard_;
  }

  Heard heard_{face()};
  Texts last_;
  Texts elsewhere_;
  Client& client_ = connect();
  std::unique_ptr<SuiteLock> lock_ = listened();
  const std::unique_ptr<SuiteLock> others_ = make(connect());
};
INSTANTIATE_TEST_SUITE_P(, Events,
                         ::testing::ValuesIn(every_class_on({Scene::servers, Scene::simulation})),
                         pairing_name);

TEST_P(Events, GrantAndRelease_SendAcquiredAndReleased) {
  const Owner owner = Owner::unique();
  auto hold = acquire_heard(*lock_, {.owner = owner});
  const FencingToken token = hold.token();
  if (face().nests) {
    const auto nested = acquire(*lock_, {.owner = owner});
    EXPECT_TRUE(nested);
  }
  EXPECT_TRUE(hears({"acquired"}));
  hold.release();
  EXPECT_TRUE(hears({"acquired", "released"}));
  for (const LockEvent& event : heard_.events()) {
    EXPECT_EQ(event.path, kPath);
    EXPECT_EQ(event.token, token);
    if (face().named) {
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
  EXPECT_TRUE(hears({"waiting 2"}));
  stop.request_stop();
  EXPECT_FALSE(get(between));
  EXPECT_TRUE(hears({"waiting 2", "waiting 1"}));
  holder.release();
  auto hold = heard_.granted(get(waiting));
  EXPECT_TRUE(hears({"waiting 2", "waiting 1", "acquired"}));
  hold.release();
  EXPECT_TRUE(hears({"waiting 2", "waiting 1", "acquired", "released"}));
}

TEST_P(Events, NoGrant_SendsNoReleased) {
  auto holder = rival_acquire(*others_);
  EXPECT_FALSE(try_acquire(*lock_));
  auto timed = async_acquire(*lock_, {.deadline = stage().in(100ms)});
  EXPECT_FALSE(get_in_time(timed));
  EXPECT_TRUE(hears({"waiting 1"}, {}));
  holder.release();
  ASSERT_TRUE(becomes_empty());
  auto hold = acquire_heard(*lock_);
  EXPECT_TRUE(hears({"waiting 1", "acquired"}, {"acquired"}));
  hold.release();
  EXPECT_TRUE(hears({"waiting 1", "acquired", "released"}));
}

TEST_P(Events, MaxHoldElapsed_SendsExpiringAndExpired) {
  if (!face().calls) GTEST_SKIP() << "a leadership has none";
  // On servers the warning comes long before the end. An event that is delayed until the end is
  // dropped.
  const auto lock = listened({.max_hold = stage().simulated() ? 400ms : 1000ms,
                              .expiry_notice = stage().simulated() ? 100ms : 950ms});
  auto hold = acquire_heard(*lock);
  if (stage().simulated()) {
    EXPECT_TRUE(hears({"acquired"}));
    stage().pass(300ms - 1ns);
    EXPECT_TRUE(hears({"acquired"}));
    stage().pass(1ns);
    EXPECT_TRUE(hears({"acquired", "expiring"}));
    stage().pass(100ms - 1ns);
    EXPECT_TRUE(hears({"acquired", "expiring"}));
    stage().pass(1ns);
  }
  EXPECT_TRUE(hears({"acquired", "expiring", "expired"}));
  EXPECT_EQ(hold.state(), HoldState::lost);
  hold.release();
  EXPECT_TRUE(hears({"acquired", "expiring", "expired"}));
}

TEST_P(Events, NodeDeleted_SendsLostNotReleased) {
  auto hold = acquire_heard(*lock_);
  auto next = rival_async_acquire(*others_);
  ASSERT_TRUE(reaches_nodes(2));
  remove_nodes_of(hold);
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(hears({"acquired", "lost"}, {"acquired"}));
  hold.release();
  EXPECT_EQ(get_in_time(next).state(), HoldState::held);
  EXPECT_TRUE(hears({"acquired", "lost"}, {"acquired", "released"}));
}

TEST_P(Events, SessionExpired_SendsLostNotReleased) {
  auto hold = acquire_heard(*lock_);
  auto next = rival_async_acquire(*others_);
  ASSERT_TRUE(reaches_nodes(2));
  stage().expire(client_);
  EXPECT_TRUE(becomes_lost(hold));
  EXPECT_TRUE(hears_of_a_loss({"acquired", "lost"}, {"acquired", "lost"}));
  hold.release();
  EXPECT_EQ(get_in_time(next).state(), HoldState::held);
  EXPECT_TRUE(hears_of_a_loss({"acquired", "lost"}, {"acquired", "lost"}));
}

}  // namespace
}  // namespace zklock::testing
