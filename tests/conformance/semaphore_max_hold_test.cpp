// SPDX-License-Identifier: Apache-2.0
// Permits that expire, of semaphores with a fixed and with a shared count.
#include <memory>

#include <gtest/gtest.h>

#include "conformance/event_log.h"
#include "conformance/lock_test.h"

namespace zklock::testing {
namespace {

class ExpiringPermit : public LockTest, public ::testing::WithParamInterface<bool> {
 protected:
  std::unique_ptr<Semaphore> make(Client& client, LockOptions options = {}) {
    if (GetParam()) return std::make_unique<Semaphore>(client, kPath, SharedCount{2}, options);
    return std::make_unique<Semaphore>(client, kPath, 2, options);
  }
  const std::unique_ptr<Client> client_ = connect();
  const std::unique_ptr<Client> other_ = connect();
  EventLog log_;
};

TEST_P(ExpiringPermit, MaxHoldElapsed_NotifiesListenerAndGrantsNext) {
  // On a busy machine, a notice shortly before the end comes too late.
  const auto semaphore =
      make(*client_, {.listener = log_.listener(), .max_hold = 2s, .expiry_notice = 1900ms});
  const auto others = make(*other_);
  const auto before = LeaseClock::now();
  Permit expiring = semaphore->acquire(2);
  const Permit next = others->acquire({.deadline = kTestTimeout}, 1);
  ASSERT_TRUE(next);
  EXPECT_GE(LeaseClock::now() - before, 2s);
  EXPECT_EQ(expiring.state(), HoldState::lost);
  EXPECT_TRUE(expiring.loss_token().stop_requested());
  EXPECT_GT(next.token(), expiring.token());
  EXPECT_TRUE(log_.reaches({"acquired", "expiring", "expired"}));
}

TEST_P(ExpiringPermit, ReleaseAfterExpiry_RetainsNextPermit) {
  const auto semaphore = make(*client_);
  const auto others = make(*other_);
  Permit expired = semaphore->acquire({.max_hold = 200ms}, 2);
  const Permit next = others->acquire({.deadline = kTestTimeout}, 2);
  ASSERT_TRUE(next);
  EXPECT_FALSE(expired.renew(1h)) << "too late";
  expired.release();
  EXPECT_FALSE(semaphore->try_acquire()) << "both are the next one's";
  EXPECT_EQ(next.state(), HoldState::held);
  EXPECT_EQ(semaphore->available_permits(), 0);
}

TEST_P(ExpiringPermit, OneOfTwoExpires_OtherIsRetained) {
  const auto semaphore = make(*client_);
  const Permit kept = semaphore->acquire();
  const Permit expiring = semaphore->acquire({.max_hold = 200ms}, 1);
  const Permit next = semaphore->acquire({.deadline = kTestTimeout}, 1);
  ASSERT_TRUE(next);
  EXPECT_EQ(expiring.state(), HoldState::lost);
  EXPECT_EQ(kept.state(), HoldState::held);
}

INSTANTIATE_TEST_SUITE_P(Fixed, ExpiringPermit, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Shared, ExpiringPermit, ::testing::Values(true));

}  // namespace
}  // namespace zklock::testing
