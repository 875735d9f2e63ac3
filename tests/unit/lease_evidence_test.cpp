// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lease_evidence.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

/// A session of T = 48 s. So R = 12 s, T/3 = 16 s, T/10 = 4.8 s, T/12 = 4 s and T/48 = 1 s.
constexpr Duration kT = seconds(48);

constexpr Duration kR = kT / 4;

/// A client on a time line. The random tests compare its leases with a model of the servers.
class Line {
 public:
  explicit Line(Duration handshake_takes = {})
      : now_(kBegan + handshake_takes), evidence_(kT, kBegan, now_) {}

  /// Passes time without a packet, whether the process runs or not.
  void idle(Duration how_long) { now_ += how_long; }

  /// Sends a quorum operation that is answered after `takes`. Nothing else is sent meanwhile.
  /// Returns the length of its lease, from its sending.
  Duration operation(Duration takes = {}) {
    const Instant sent = now_;
    now_ += takes;
    const Instant lease = evidence_.lease_expiry(sent, now_);
    evidence_.on_answered(sent, now_, AnsweredBy::quorum);
    return lease - sent;
  }

 private:
  static constexpr Instant kBegan = Instant(seconds(1000));

  Instant now_;
  LeaseEvidence evidence_;
};

TEST(LeaseEvidence, SlowHeartbeats_GiveTwoThirdsLessTwiceTheExcess) {
  for (const Duration takes : {kT / 960, kT / 250, kT / 96, kT / 64, kT / 48}) {
    Line line;
    Duration least = kT;
    for (int i = 0; i < 30; ++i) {
      const Duration lease = line.operation(takes);
      if (i > 4) least = std::min(least, lease);
      line.idle(kT / 10 - takes);
    }
    const Duration excess = std::max(2 * (kT / 10 + takes) + kT / 24 - kR, Duration{});
    EXPECT_EQ(least, kT * 2 / 3 - excess) << takes.count();
  }
}

// If session requests are closer together than the gap, some of them can find no packet in it.
TEST(LeaseEvidence, WideGaps_ShortenTheLease) {
  const Duration widest = (kR - kT / 24) / 2;
  for (const Duration apart :
       {widest, widest + nanoseconds(1), kT / 8, kT / 6, kT / 5, kR, kT * 7 / 24}) {
    Line line;
    Duration least = kT;
    for (int i = 0; i < 50; ++i) {
      least = std::min(least, line.operation());
      line.idle(apart);
    }
    // The lease counts from the sending of a packet, or from a gap and a half tick ago.
    const Duration longest_ago = std::max(apart + std::min(apart + kT / 24, kR), kR);
    EXPECT_GE(least, kT - kT / 12 - longest_ago) << apart.count();
    EXPECT_LE(least, kT - kT / 12 - std::min(2 * apart, longest_ago)) << apart.count();
  }
}

// The leader itself answers the handshake. It counts from its start.
TEST(LeaseEvidence, OnlyTheHandshake_IsTwoThirdsThenAges) {
  const auto lease = [](Duration handshake_takes, Duration later) {
    Line line(handshake_takes);
    line.idle(later);
    return line.operation();
  };
  EXPECT_EQ(lease({}, {}), kT * 2 / 3);
  EXPECT_EQ(lease({}, kR * 2 / 3), kT * 2 / 3);
  EXPECT_EQ(lease({}, kT / 3), kT - kT / 3 - kT / 12);
  EXPECT_EQ(lease(kT / 2, {}), kT - kT / 2 - kT / 12);
}

// The follower does not name a session for its handshake. So a first packet in time does not make
// the leader's knowledge newer at the next half tick.
TEST(LeaseEvidence, Handshake_IsNotRelayedToTheLeader) {
  Line line;
  line.idle(kR - nanoseconds(2));
  line.operation();
  line.idle(kR - nanoseconds(2));
  EXPECT_EQ(line.operation(), kT / 2 + nanoseconds(4) - kT / 12);
}

// A client without a hold sends its queries this far apart. Its next operation can follow any time.
TEST(LeaseEvidence, SparseQueries_GiveAtLeastThreeEighths) {
  for (Duration later{}; later <= kT * 7 / 24; later += kT / 96) {
    Line line;
    for (int i = 0; i < 30; ++i) {
      line.operation();
      line.idle(kT * 7 / 24);
    }
    line.idle(later - kT * 7 / 24);
    EXPECT_GE(line.operation(), kT * 3 / 8) << later.count();
  }
}

TEST(LeaseEvidence, HeartbeatsAfterASilence_CountAgain) {
  Line line;
  line.idle(3 * kT);
  EXPECT_LT(line.operation(), Duration{});
  for (int i = 0; i < 2; ++i) {
    line.idle(kT / 10);
    EXPECT_LT(line.operation(), Duration{})
        << "the half tick may lie between the silence and the first";
  }
  line.idle(kT / 10);
  EXPECT_EQ(line.operation(), kT * 2 / 3);
}

// A late reply does not invalidate the replies before it.
TEST(LeaseEvidence, SlowReply_KeepsTheEarlierEvidence) {
  for (const Duration takes : {kT / 48, kT / 24}) {
    Line line;
    for (int i = 0; i < 10; ++i) {
      line.operation();
      line.idle(kT / 5);
    }
    EXPECT_GE(line.operation(takes), kT * 3 / 8);
    for (Duration since{}; since <= kR; since += kT / 10) {
      EXPECT_GE(line.operation(), kT * 3 / 8 - takes) << takes.count() << ", " << since.count();
      line.idle(kT / 10);
    }
    EXPECT_EQ(line.operation(), kT * 2 / 3);
  }
}

// A round trip longer than T/24 reveals a pause. It and what is sent soon after it count from the
// last operation that was answered T/24 before them.
TEST(LeaseEvidence, SlowReply_CountsFromTheOperationBeforeIt) {
  for (const Duration since : {Duration{}, kT / 20}) {
    Line line;
    for (int i = 0; i < 30; ++i) {
      line.idle(kT / 10);
      line.operation();
    }
    line.idle(since);
    const Duration counted = since > kT / 24 ? since : since + kT / 10;
    const Duration takes = kT / 20;
    EXPECT_EQ(line.operation(takes), kT * 2 / 3 - counted) << since.count();
    EXPECT_EQ(line.operation(), kT * 2 / 3 - takes - since) << since.count();
  }
}

TEST(LeaseEvidence, AttemptInTheFuture_CountsFromNow) {
  const Instant now(seconds(100));
  const LeaseEvidence evidence(kT, now + kT, now);
  EXPECT_EQ(evidence.lease_expiry(now + kT / 2, now + kT / 2), now + kT - kT / 12);
}

// ---- unusual times -----------------------------------------------------------------------------

TEST(LeaseEvidence, SimultaneousReplies_AreOnePacket) {
  const Instant t(seconds(1000));
  LeaseEvidence evidence(kT, t, t);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(evidence.lease_expiry(t, t), t + kT * 2 / 3);
    evidence.on_answered(t, t, AnsweredBy::quorum);
  }
  // A burst does not displace the packets that are needed.
  for (int i = 0; i < 10'000; ++i)
    evidence.on_answered(t + i * kR / 20'000, t + i * kR / 20'000, AnsweredBy::quorum);
  EXPECT_EQ(evidence.lease_expiry(t + kR / 2, t + kR / 2), t + kR / 2 + kT * 2 / 3);
}

TEST(LeaseEvidence, RepliesOutOfOrder_DoNotExtendTheLease) {
  const Instant t(seconds(1000));
  LeaseEvidence evidence(kT, t, t);
  evidence.on_answered(t + kR, t + kR, AnsweredBy::quorum);
  evidence.on_answered(t + kR / 2, t + kR / 2, AnsweredBy::quorum);
  EXPECT_LE(evidence.lease_expiry(t + kR, t + kR), t + kR + kT * 2 / 3);
}

TEST(LeaseEvidence, TinyTimeout_LeaseStaysWithinIt) {
  for (std::int64_t timeout = 0; timeout <= 100; ++timeout) {
    const Duration tiny(timeout);
    Instant now(seconds(1));
    LeaseEvidence evidence(tiny, now, now);
    for (int i = 0; i < 200; ++i) {
      EXPECT_LE(evidence.lease_expiry(now, now), now + tiny);
      evidence.on_answered(now, now + nanoseconds(i % 3), AnsweredBy::quorum);
      now += nanoseconds(1 + i % 5);
    }
  }
}

// ---- packets that are forgotten -----------------------------------------------------------------

/// Returns the shortest lease with heartbeats every T/10. Some of them come `before` after another
/// operation.
Duration lease_with_company(Duration before) {
  const Instant start = Instant(seconds(1000));
  LeaseEvidence evidence(kT, start, start);
  Instant now = start;
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
}  // namespace zklock::core
