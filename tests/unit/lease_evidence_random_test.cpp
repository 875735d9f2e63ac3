// SPDX-License-Identifier: Apache-2.0
// The lease never outlives the session, in random histories of a connection.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "lease_world.h"
#include "zklock/core/lease_evidence.h"

namespace zklock::core {
namespace {

using lease_test::Connection;
using lease_test::Servers;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// A session of T = 48 s. So R = 12 s, T/3 = 16 s, T/10 = 4.8 s, T/12 = 4 s and T/48 = 1 s.
constexpr Duration kT = seconds(48);
constexpr Duration kR = kT / 4;

constexpr Duration kRandomTimeout = nanoseconds(4'800'000'000);

using Claim = Instant(const Connection::Operation&, const LeaseEvidence&);

Instant claim_of_evidence(const Connection::Operation& operation, const LeaseEvidence& evidence) {
  return evidence.lease_expiry(operation.sent, operation.answered);
}

/// Returns a difference between the servers' T and the client's: up to 1/48, often exactly 1/48.
Duration drift_of(std::mt19937_64& random) {
  const Duration most = kRandomTimeout / 48;
  const auto spread = static_cast<std::uint64_t>(2 * most.count() + 1);
  switch (random() % 4) {
    case 0: return most;
    case 1: return -most;
    default: return Duration(static_cast<std::int64_t>(random() % spread)) - most;
  }
}

/// Returns a half tick from a tenth of `longest` to `longest`, often exactly `longest`.
Duration half_tick_of(std::mt19937_64& random, Duration longest) {
  if (random() % 4 == 0) return longest;
  const auto spread = static_cast<std::uint64_t>((longest - longest / 10).count() + 1);
  return longest - Duration(static_cast<std::int64_t>(random() % spread));
}

/// Returns the first of `seeds` connections in which the claim exceeds the session's earliest end
/// minus `reserve`. The half tick of the servers is random, or one of the worst for the operation.
/// With `drift`, the clocks of client and servers run at different rates.
std::optional<std::uint64_t> first_lie(std::uint64_t seeds, Connection::Conditions conditions,
                                       bool drift, Duration reserve, Claim claim) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    std::mt19937_64 random(~seed);
    conditions.timeout = kRandomTimeout;
    conditions.servers_timeout = kRandomTimeout + (drift ? drift_of(random) : Duration{});
    const Duration longest = conditions.servers_timeout / 4;
    const Duration half_tick = half_tick_of(random, longest);
    bool lied = false;
    Connection(seed, conditions)
        .run(8, [&](const Connection::Operation& operation, const LeaseEvidence& evidence,
                    const Servers& servers) {
          if (operation.by != AnsweredBy::quorum) return;
          Instant end = servers.earliest_end(operation.arrived, half_tick);
          for (const Duration bad : servers.that_miss_the_gaps(operation.arrived, longest)) {
            end = std::min(end, servers.earliest_end(operation.arrived, bad));
          }
          if (claim(operation, evidence) > end - reserve + nanoseconds(4)) lied = true;
        });
    if (lied) return seed;
  }
  return std::nullopt;
}

::testing::AssertionResult never_lies(std::uint64_t seeds, const Connection::Conditions& conditions,
                                      bool drift) {
  // Without drift, the reserve for the clock rates is left over in full.
  const Duration reserve = drift ? Duration{} : kRandomTimeout / 12;
  const auto seed = first_lie(seeds, conditions, drift, reserve, claim_of_evidence);
  if (!seed) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the lease outlives the session at seed " << *seed;
}

TEST(LeaseEvidenceAtRandom, FirstConnection_NeverOutlivesTheSession) {
  EXPECT_TRUE(never_lies(100'000, {.handshake_is_named = true}, false));
}

TEST(LeaseEvidenceAtRandom, WithoutPauses_NeverOutlivesTheSession) {
  EXPECT_TRUE(never_lies(50'000, {.handshake_is_named = true, .pauses = false}, false));
}

TEST(LeaseEvidenceAtRandom, Reconnect_NeverOutlivesTheSession) {
  EXPECT_TRUE(never_lies(50'000, {.handshake_is_named = false}, false));
}

TEST(LeaseEvidenceAtRandom, ClocksThatDiffer_NeverOutlivesTheSession) {
  EXPECT_TRUE(never_lies(100'000, {.handshake_is_named = false}, true));
}

// Pings can be delayed on the way without limit.
TEST(LeaseEvidenceAtRandom, WithPings_NeverOutlivesTheSession) {
  EXPECT_TRUE(never_lies(50'000, {.pings = true}, false));
}

/// Returns the first of `seeds` connections in which the claim and T/48 exceed the session. T/48 is
/// the time to notify a loss. The leader's session requests are late, and the clocks' rates differ.
std::optional<std::uint64_t> first_late_lie(std::uint64_t seeds, Connection::Conditions conditions,
                                            Claim claim) {
  const Duration lateness = kRandomTimeout / 24;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    std::mt19937_64 random(~seed);
    conditions.timeout = kRandomTimeout;
    conditions.servers_timeout = kRandomTimeout + drift_of(random);
    const Duration longest = conditions.servers_timeout / 4;
    const Duration half_tick = half_tick_of(random, longest);
    bool lied = false;
    Connection(seed, conditions)
        .run(12, [&](const Connection::Operation& operation, const LeaseEvidence& evidence,
                     const Servers& servers) {
          if (operation.by != AnsweredBy::quorum) return;
          const Instant at = operation.carried_out;
          // The assumption about pauses: see LeaseEvidence.
          if (operation.pause_was_hidden && at < operation.pause.ends + longest + lateness) return;
          const Instant promised = claim(operation, evidence) + kRandomTimeout / 48;
          auto ticks = servers.that_miss_the_gaps(at, longest);
          ticks.insert(ticks.end(), {half_tick, longest});
          for (const Duration each : ticks) {
            for (int i = 0; i < 8; ++i) {
              const Instant contact =
                  servers.late_contact(at, each, lateness, operation.pause, random);
              if (promised > contact + conditions.servers_timeout + nanoseconds(4)) lied = true;
            }
          }
        });
    if (lied) return seed;
  }
  return std::nullopt;
}

TEST(LeaseEvidenceAtRandom, LateQueries_NeverOutlivesTheSession) {
  EXPECT_EQ(first_late_lie(100'000, {}, claim_of_evidence), std::nullopt);
}

TEST(LeaseEvidenceAtRandom, LateQueriesWithPings_NeverOutlivesTheSession) {
  EXPECT_EQ(first_late_lie(50'000, {.pings = true}, claim_of_evidence), std::nullopt);
}

TEST(LeaseEvidenceAtRandom, ServerPauses_NeverOutlivesTheSession) {
  EXPECT_EQ(first_late_lie(200'000, {.pauses = false, .server_pauses = true}, claim_of_evidence),
            std::nullopt);
}

TEST(LeaseEvidenceAtRandom, ServerAndClientPause_NeverOutlivesTheSession) {
  EXPECT_EQ(first_late_lie(100'000, {.server_pauses = true}, claim_of_evidence), std::nullopt);
}

// The age of the previous request alone says nothing about the half tick before it.
Instant naive_claim(const Connection::Operation& operation, const LeaseEvidence&) {
  const Duration age = operation.sent - operation.previous_sent;
  const Duration quarter = kRandomTimeout / 4;
  return operation.sent + kRandomTimeout - std::max(age, quarter) - kRandomTimeout / 12;
}

TEST(LeaseEvidenceAtRandom, NaiveFormula_OutlivesTheSession) {
  const Connection::Conditions kind{.handshake_is_named = true, .pauses = false};
  EXPECT_TRUE(first_lie(10'000, kind, false, Duration{}, naive_claim));
}

// By hand: packets arrive at 0 and 23 s; the half ticks are at 11 s and right before 23 and 35 s.
// The follower names the session at 11 s, and not at 23 s, because no packet has arrived since. It
// is separated from the leader after the operation at 34 s. T after 11 s is 59 s, but the naive
// formula returns 66 s.
TEST(LeaseEvidence, NaiveFormula_OutlivesTheSession) {
  const Instant zero(seconds(1000));
  Servers servers(kT, zero - kT, false);
  servers.arrived(zero);
  servers.arrived(zero + seconds(23));
  servers.arrived(zero + seconds(34));
  const Instant sent = zero + seconds(34);
  const Instant half_tick = zero + seconds(23) - nanoseconds(1);
  const Instant end = servers.contact(sent, kR, half_tick) + kT;
  EXPECT_EQ(end, zero + seconds(59) - nanoseconds(1));
  const Duration age = seconds(11);
  EXPECT_GT(sent + kT - std::max(age, kR) - kT / 12, end);

  LeaseEvidence evidence(kT, zero - kT, zero - kT);
  evidence.on_answered(zero, zero, AnsweredBy::quorum);
  evidence.on_answered(zero + seconds(23), zero + seconds(23), AnsweredBy::quorum);
  EXPECT_LE(evidence.lease_expiry(sent, sent), end - kT / 12);
}

}  // namespace
}  // namespace zklock::core
