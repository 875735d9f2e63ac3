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

TEST(LeaseEvidenceAtRandom, EachKindOfConnection_NeverOutlivesTheSession) {
  struct Case {
    std::uint64_t seeds;
    Connection::Conditions conditions;
    bool drift = false;
  };
  const Case cases[] = {{100'000, {.handshake_is_named = true}},
                        {50'000, {.handshake_is_named = true, .pauses = false}},
                        {50'000, {.handshake_is_named = false}},
                        {100'000, {.handshake_is_named = false}, true},
                        // Pings can be delayed on the way without limit.
                        {50'000, {.pings = true}}};
  for (const auto& [seeds, conditions, drift] : cases) {
    // Without drift, the reserve for the clock rates is left over in full.
    const Duration reserve = drift ? Duration{} : kRandomTimeout / 12;
    EXPECT_EQ(first_lie(seeds, conditions, drift, reserve, claim_of_evidence), std::nullopt)
        << "handshake named " << conditions.handshake_is_named << ", pauses " << conditions.pauses
        << ", pings " << conditions.pings << ", drift " << drift;
  }
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

}  // namespace
}  // namespace zklock::core
