// SPDX-License-Identifier: Apache-2.0
// A unit test of a program that uses the installed test kit.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zklock/testing/fake_ensemble.h>
#include <zklock/testing/matchers.h>
#include <zklock/zklock.h>

namespace {

using namespace std::chrono_literals;
using zklock::testing::FakeEnsemble;
using zklock::testing::IsHeld;
using zklock::testing::IsLost;

TEST(Consumer, SessionExpires_HoldIsLost) {
  FakeEnsemble ensemble;
  const auto client = ensemble.client();
  zklock::Mutex mutex(*client, "/consumer");
  const zklock::Hold hold = mutex.acquire(1s);
  EXPECT_THAT(hold, IsHeld());
  const auto before = zklock::LeaseClock::now();
  ensemble.advance(1min);
  EXPECT_EQ(zklock::LeaseClock::now() - before, 1min);
  EXPECT_THAT(hold, IsHeld());
  ensemble.link(*client).expire_session();
  EXPECT_THAT(hold, IsLost());
}

}  // namespace
