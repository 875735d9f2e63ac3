// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "zklock/core/lease_evidence.h"

namespace zklock::core::thinning {
namespace {

constexpr Duration kT = std::chrono::seconds(48);
constexpr Instant kStart = Instant(std::chrono::hours(1));

/// Returns the shortest lease with heartbeats every T/10. Some of them come `before` after another
/// operation.
Duration lease_with_company(Duration before) {
  LeaseEvidence evidence(kT, kStart, kStart);
  Instant now = kStart;
  Duration shortest = kT;
  for (int beat = 0; beat < 30; ++beat) {
    for (const bool is_beat : {false, true}) {
      now += is_beat ? before : kT / 10 - before;
      if (!is_beat && beat % 4 != 0) continue;
      // The leases of the first heartbeats start at the handshake.
      if (beat >= 5) shortest = std::min(shortest, evidence.lease_expiry(now, now) - now);
      evidence.on_answered(now, now, AnsweredBy::quorum);
    }
  }
  return shortest;
}

// However many packets there are, the forgotten packets must not leave a gap.
TEST(LeaseEvidenceThinning, OtherOperations_NeverShortenTheLease) {
  for (int share = 10; share < 200; ++share) {
    EXPECT_EQ(lease_with_company(kT / share), kT * 2 / 3) << share;
  }
}

}  // namespace
}  // namespace zklock::core::thinning
