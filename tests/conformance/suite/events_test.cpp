// SPDX-License-Identifier: Apache-2.0
// What a listener hears of a lock: this, in this order, and nothing more.
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/suite/heard.h"
#include "conformance/suite/suite.h"

namespace zklock::testing {
namespace {

template <class P>
class Events : public SuiteTest<P> {
 protected:
  using typename SuiteTest<P>::Lock;
  using typename SuiteTest<P>::TestedFace;
  using Texts = std::vector<std::string>;

  // What was heard last is all, also when everything has gone.
  void TearDown() override {
    SuiteTest<P>::TearDown();
    lock_.reset();
    EXPECT_TRUE(heard_.exactly_but_for_the_connection(last_, elsewhere_)) << heard_;
  }
  std::unique_ptr<Lock> listened(MutexOptions options = {}) {
    options.listener = heard_.listener();
    return this->make(client_, options);
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

  Heard<TestedFace> heard_;
  Texts last_;
  Texts elsewhere_;
  Client& client_ = this->connect();
  std::unique_ptr<Lock> lock_ = listened();
  const std::unique_ptr<Lock> others_ = this->make(this->connect());
};
using EveryPairing = EveryClassOn<RealStage, FakeStage>;
TYPED_TEST_SUITE(Events, EveryPairing, PairingName);

TYPED_TEST(Events, OfAGrantAreItsBeginningAndItsEnd) {
  using Face = typename TestFixture::TestedFace;
  const Owner owner = Owner::unique();
  auto hold = this->acquire(*this->lock_, {.owner = owner});
  const FencingToken token = hold.token();
  if constexpr (Face::nests) {
    const auto nested = this->acquire(*this->lock_, {.owner = owner});
    EXPECT_TRUE(static_cast<bool>(nested));
  }
  EXPECT_TRUE(this->hears({"acquired"}));
  hold.release();
  EXPECT_TRUE(this->hears({"acquired", "released"}));
  for (const LockEvent& event : this->heard_.events()) {
    EXPECT_EQ(event.path, kPath);
    EXPECT_EQ(event.token, token);
    if (Face::named) {
      EXPECT_EQ(event.owner, owner);
    }
  }
}

TYPED_TEST(Events, OfAWaiterAreItsPlaces) {
  auto holder = this->rival_acquire(*this->others_);
  std::stop_source stop;
  auto between = this->rival_async_acquire(*this->others_, {.stop = stop.get_token()});
  ASSERT_TRUE(this->reaches_nodes(2));
  auto waiting = this->async_acquire(*this->lock_);
  ASSERT_TRUE(this->reaches_nodes(3));
  EXPECT_TRUE(this->hears({"waiting 2"}));
  stop.request_stop();
  EXPECT_FALSE(static_cast<bool>(get(between)));
  EXPECT_TRUE(this->hears({"waiting 2", "waiting 1"}));
  holder.release();
  auto hold = get(waiting);
  EXPECT_TRUE(this->hears({"waiting 2", "waiting 1", "acquired"}));
  hold.release();
  EXPECT_TRUE(this->hears({"waiting 2", "waiting 1", "acquired", "released"}));
}

TYPED_TEST(Events, OfNoGrantAreNoEnd) {
  auto holder = this->rival_acquire(*this->others_);
  EXPECT_FALSE(static_cast<bool>(this->try_acquire(*this->lock_)));
  auto timed = this->async_acquire(*this->lock_, {.deadline = this->stage().in(100ms)});
  EXPECT_FALSE(static_cast<bool>(this->get_in_time(timed)));
  EXPECT_TRUE(this->hears({"waiting 1"}, {}));
  holder.release();
  ASSERT_TRUE(this->becomes_empty());
  auto hold = this->acquire(*this->lock_);
  EXPECT_TRUE(this->hears({"waiting 1", "acquired"}, {"acquired"}));
  hold.release();
  EXPECT_TRUE(this->hears({"waiting 1", "acquired", "released"}));
}

TYPED_TEST(Events, OfAMaximumHoldAreTheWarningAndTheEnd) {
  using Face = typename TestFixture::TestedFace;
  if (!Face::calls || Face::hears == UsualFace::Hears::nothing) {
    GTEST_SKIP() << "has none, or nobody hears of it";
  }
  const auto lock = this->listened({.max_hold = 400ms, .expiring_before = 100ms});
  auto hold = this->acquire(*lock);
  EXPECT_TRUE(this->hears({"acquired"}));
  if constexpr (TestFixture::OwnStage::simulated) {
    this->stage().pass(300ms - 1ns);
    EXPECT_TRUE(this->hears({"acquired"}));
    this->stage().pass(1ns);
    EXPECT_TRUE(this->hears({"acquired", "expiring"}));
    this->stage().pass(100ms - 1ns);
    EXPECT_TRUE(this->hears({"acquired", "expiring"}));
    this->stage().pass(1ns);
  }
  EXPECT_TRUE(this->hears({"acquired", "expiring", "expired"}));
  EXPECT_EQ(hold.state(), HoldState::lost);
  hold.release();
  EXPECT_TRUE(this->hears({"acquired", "expiring", "expired"}));
}

TYPED_TEST(Events, OfALostNodeAreTheLossAndNoRelease) {
  auto hold = this->acquire(*this->lock_);
  auto next = this->rival_async_acquire(*this->others_);
  ASSERT_TRUE(this->reaches_nodes(2));
  this->remove_nodes_of(hold);
  EXPECT_TRUE(this->becomes_lost(hold));
  EXPECT_TRUE(this->hears({"acquired", "lost"}, {"acquired"}));
  hold.release();
  EXPECT_EQ(this->get_in_time(next).state(), HoldState::held);
  EXPECT_TRUE(this->hears({"acquired", "lost"}, {"acquired", "released"}));
}

TYPED_TEST(Events, OfALostSessionAreTheLossAndNoRelease) {
  auto hold = this->acquire(*this->lock_);
  auto next = this->rival_async_acquire(*this->others_);
  ASSERT_TRUE(this->reaches_nodes(2));
  this->stage().expire(this->client_);
  EXPECT_TRUE(this->becomes_lost(hold));
  EXPECT_TRUE(this->hears_of_a_loss({"acquired", "lost"}, {"acquired", "lost"}));
  hold.release();
  EXPECT_EQ(this->get_in_time(next).state(), HoldState::held);
  EXPECT_TRUE(this->hears_of_a_loss({"acquired", "lost"}, {"acquired", "lost"}));
}

}  // namespace
}  // namespace zklock::testing
