// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/matchers.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/zklock.h"

namespace zklock::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Matcher, class Value>
std::string explain(const Matcher& matcher, const Value& value) {
  ::testing::StringMatchResultListener listener;
  static_cast<void>(matcher.MatchAndExplain(value, &listener));
  return listener.str();
}

TEST(Matchers, States_AreMatched) {
  FakeEnsemble ensemble;
  const auto client = ensemble.client();
  Mutex mutex(*client, "/locks/a");
  const Hold hold = mutex.acquire();
  EXPECT_THAT(hold, IsHeld());
  EXPECT_THAT(hold, IsValid());
  EXPECT_THAT(hold, Not(IsLost()));
  EXPECT_THAT(hold, Not(IsEmptyHold()));
  EXPECT_THAT(client->health(), IsHealthy());
  ensemble.link(*client).refuse();
  EXPECT_THAT(hold, IsSuspended());
  EXPECT_THAT(client->health(), Not(IsHealthy()));
  ensemble.advance(10s);
  EXPECT_THAT(hold, IsLost());
  EXPECT_THAT(hold, Not(IsValid()));
  EXPECT_EQ(explain(IsHeld(), hold), "which is lost (lease_expired)");
}

TEST(Matchers, EmptyHold_IsMatched) {
  EXPECT_THAT(Hold(), IsEmptyHold());
}

TEST(Matchers, Errors_AreMatched) {
  const Error error(Errc::no_auth, "lock", "/locks/a");
  EXPECT_THAT(error, HasErrc(Errc::no_auth));
  EXPECT_THAT(error, Not(HasErrc(Errc::closed)));
  const auto throws = [&error] { throw error; };
  EXPECT_THAT(throws, ThrowsErrc(Errc::no_auth));
  EXPECT_THAT(throws, Not(ThrowsErrc(Errc::closed)));
  EXPECT_THAT(explain(ThrowsErrc(Errc::closed), throws), HasSubstr("/locks/a"));
  EXPECT_EQ(explain(ThrowsErrc(Errc::closed), [] {}), "which does not throw");
}

TEST(Matchers, Holder_IsMatchedByItsName) {
  Participant participant;
  participant.application = "billing";
  EXPECT_THAT(participant, Not(HoldsAs("billing")));
  participant.holds = true;
  EXPECT_THAT(participant, HoldsAs("billing"));
  EXPECT_THAT(participant, Not(HoldsAs("other")));
}

}  // namespace
}  // namespace zklock::testing
