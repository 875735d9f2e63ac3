// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "conformance/leader_fixture.h"

namespace zklock::testing {

class LatchListener : public LeaderTest<LockTest> {
 protected:
  // Ends the session of the leader, and waits until the latch leads again.
  void lose_and_lead_again(const Client& client, const LeaderLatch& latch) const {
    const FencingToken token = latch.token();
    expire(client);
    ASSERT_TRUE(leads_after(latch, token));
  }

  LeadershipLog log_;
  const std::unique_ptr<Client> client_ = connect();
};

}  // namespace zklock::testing
