// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/health_rules.h"

#include <algorithm>
#include <chrono>

namespace zklock::core {

namespace {

using Kind = HealthProblem::Kind;
using std::chrono::seconds;

HealthState state_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::closed:
    case Kind::auth_refused:
    case Kind::callback_stuck:
    case Kind::delete_refused: return HealthState::failed;
    case Kind::callback_slow:
    case Kind::disconnected:
    case Kind::lease_low:
    case Kind::sessions_short:
    case Kind::node_bytes_high:
    case Kind::watch_bytes_high: break;
  }
  return HealthState::degraded;
}

std::string whole_seconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<seconds>(time).count()) + " s";
}

std::string whole_milliseconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) +
         " ms";
}

bool is_high(std::size_t bytes, std::size_t limit) noexcept {
  return limit > 0 && bytes >= limit / 5 * 4;
}

std::string use_of(std::size_t bytes, std::size_t limit) {
  return std::to_string(bytes) + " of " + std::to_string(limit) + " bytes";
}

void add(Health& health, Kind kind, std::string text, Duration age = {}) {
  const HealthState state = state_of(kind);
  health.state = std::max(health.state, state);
  health.problems.push_back({.kind = kind, .state = state, .text = std::move(text), .age = age});
}

/// Adds the problem of user code that runs too long, if it is `kind`.
void add_callback(Health& health, const HealthFacts& facts, Kind kind) {
  if (!facts.oldest_callback) return;
  const auto& [what, age] = *facts.oldest_callback;
  const bool stuck = age >= std::max<Duration>(3 * facts.timeout, seconds(30));
  const bool slow = age >= std::max<Duration>(facts.timeout, seconds(10));
  if (kind != (stuck ? Kind::callback_stuck : Kind::callback_slow) || !slow) return;
  add(health, kind,
      what + " has run for " + whole_seconds(age) + " since its hold or leadership ended", age);
}

void add_connection(Health& health, const HealthFacts& facts) {
  if (facts.connected || facts.auth_refused) return;
  std::string text = "no connection";
  if (facts.disconnected_for) text += " for " + whole_seconds(*facts.disconnected_for);
  if (!facts.connection_problem.empty()) text += ": " + facts.connection_problem;
  add(health, Kind::disconnected, std::move(text), facts.disconnected_for.value_or(Duration{}));
}

void add_sessions(Health& health, const HealthFacts& facts) {
  Duration oldest{};
  for (const auto& age : facts.session_ages) {
    if (!age) return;
    oldest = std::max(oldest, *age);
  }
  if (oldest > 10 * facts.timeout) return;
  add(health, Kind::sessions_short,
      std::to_string(facts.session_ages.size()) + " sessions began in the last " +
          whole_seconds(oldest + seconds(1)),
      oldest);
}

}  // namespace

Health judge(const HealthFacts& facts) {
  Health health;
  if (facts.closed) {
    add(health, Kind::closed, "the client was closed");
    return health;
  }
  if (facts.auth_refused) {
    const bool is_known = !facts.connection_problem.empty();
    add(health, Kind::auth_refused,
        is_known ? facts.connection_problem : "the servers refused the credential");
  }
  add_callback(health, facts, Kind::callback_stuck);
  if (facts.refused_deletes > 0) {
    add(health, Kind::delete_refused,
        "an ACL refuses the delete of " + std::to_string(facts.refused_deletes) +
            " lock znodes; see the log");
  }
  add_callback(health, facts, Kind::callback_slow);
  add_connection(health, facts);
  if (facts.lease_left && *facts.lease_left < facts.timeout / 4) {
    add(health, Kind::lease_low,
        "the lease ends in " + whole_milliseconds(*facts.lease_left) +
            "; heartbeats are answered late or not at all");
  }
  add_sessions(health, facts);
  if (is_high(facts.node_bytes, facts.node_limit_bytes)) {
    add(health, Kind::node_bytes_high,
        "the lock znodes use " + use_of(facts.node_bytes, facts.node_limit_bytes));
  }
  if (is_high(facts.watch_bytes, facts.watch_limit_bytes)) {
    add(health, Kind::watch_bytes_high,
        "the watches use " + use_of(facts.watch_bytes, facts.watch_limit_bytes));
  }
  return health;
}

}  // namespace zklock::core

namespace zklock {

std::string_view to_string(HealthState state) noexcept {
  switch (state) {
    case HealthState::ok: return "ok";
    case HealthState::degraded: return "degraded";
    case HealthState::failed: return "failed";
  }
  return "unknown";
}

std::string_view to_string(HealthProblem::Kind kind) noexcept {
  switch (kind) {
    case HealthProblem::Kind::closed: return "closed";
    case HealthProblem::Kind::auth_refused: return "auth_refused";
    case HealthProblem::Kind::callback_stuck: return "callback_stuck";
    case HealthProblem::Kind::delete_refused: return "delete_refused";
    case HealthProblem::Kind::callback_slow: return "callback_slow";
    case HealthProblem::Kind::disconnected: return "disconnected";
    case HealthProblem::Kind::lease_low: return "lease_low";
    case HealthProblem::Kind::sessions_short: return "sessions_short";
    case HealthProblem::Kind::node_bytes_high: return "node_bytes_high";
    case HealthProblem::Kind::watch_bytes_high: return "watch_bytes_high";
  }
  return "unknown";
}

}  // namespace zklock
