// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include <gtest/gtest.h>

#include "zklock/core/lease_evidence.h"

namespace zklock::core {
namespace {

constexpr Duration T = std::chrono::seconds(48);
constexpr Instant start = Instant(std::chrono::hours(1));

/// Heartbeats every T/10, each `before` after one other operation of the session.
Duration lease_with_company(Duration before) {
  LeaseEvidence evidence(T, start, start);
  Instant now = start;
  Duration lease{};
  for (int beat = 0; beat < 30; ++beat) {
    for (const Duration wait : {T / 10 - before, before}) {
      now += wait;
      evidence.running(now - wait / 2);
      evidence.running(now);
      lease = evidence.lease(now) - now;
      evidence.answered(now, now);
    }
  }
  return lease;
}

// However many packets there are, those that are forgotten must not leave a gap.
TEST(LeaseEvidenceThinning, OtherOperationsNeverShortenTheLease) {
  for (int share = 10; share < 200; ++share) {
    EXPECT_EQ(lease_with_company(T / share), T * 2 / 3) << share;
  }
}

}  // namespace
}  // namespace zklock::core
