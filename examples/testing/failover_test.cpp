// SPDX-License-Identifier: Apache-2.0
// The standby becomes leader while the process of the leader is paused.
#include <chrono>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/testing/matchers.h"
#include "zklock/zklock.h"

namespace {

using namespace std::chrono_literals;
using zklock::testing::IsHeld;
using zklock::testing::IsLost;

TEST(Failover, LeaderIsPaused_StandbyLeads) {
  zklock::testing::FakeEnsemble ensemble;
  const auto client = ensemble.client();
  const auto standby_client = ensemble.client();
  zklock::LeaderLatch leader(*client, "/leaders/billing");
  zklock::LeaderLatch standby(*standby_client, "/leaders/billing");
  leader.start();
  ensemble.settle();
  standby.start();
  ensemble.settle();
  const zklock::Leadership first = leader.leadership();
  ASSERT_THAT(first, IsHeld());

  ensemble.link(*client).pause_process();
  ASSERT_TRUE(ensemble.advance_until([&] { return standby.has_leadership(); }, 1min));
  EXPECT_THAT(first, IsLost());
  EXPECT_GT(standby.token(), first.token());

  ensemble.link(*client).resume_process();
  EXPECT_FALSE(leader.has_leadership());
  EXPECT_TRUE(standby.has_leadership());
}

}  // namespace
