// SPDX-License-Identifier: Apache-2.0
// The rules of a client's health.
#include "zklock/core/health_rules.h"

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace zklock::core {
namespace {

using namespace std::chrono_literals;
using Kind = HealthProblem::Kind;

HealthFacts healthy() {
  return {.connected = true,
          .disconnected_for = 1h,
          .timeout = 10s,
          .lease_left = 6s,
          .session_ages = {1h, 2h, 3h},
          .node_limit_bytes = 1000,
          .watch_limit_bytes = 1000};
}

/// Returns facts with which `kind` is the only problem.
HealthFacts facts_of(Kind kind) {
  HealthFacts facts = healthy();
  switch (kind) {
    case Kind::closed: facts.closed = true; break;
    case Kind::auth_refused:
      facts.auth_refused = true;
      facts.connected = false;
      facts.connection_problem = "the servers require SASL";
      break;
    case Kind::callback_stuck: facts.oldest_callback.emplace("f", 30s); break;
    case Kind::delete_refused: facts.refused_deletes = 2; break;
    case Kind::callback_slow: facts.oldest_callback.emplace("f", 10s); break;
    case Kind::disconnected:
      facts.connected = false;
      facts.disconnected_for = 12s;
      facts.connection_problem = "no route";
      break;
    case Kind::lease_low: facts.lease_left = 2499ms; break;
    case Kind::sessions_short: facts.session_ages = {100s, 50s, 1s}; break;
    case Kind::node_bytes_high: facts.node_bytes = 800; break;
    case Kind::watch_bytes_high: facts.watch_bytes = 800; break;
  }
  return facts;
}

/// Returns the facts of each kind just below its threshold.
std::vector<HealthFacts> nearly_wrong() {
  std::vector<HealthFacts> all(6, healthy());
  all[0].oldest_callback.emplace("f", 10s - 1ns);
  all[1].lease_left = 2500ms;
  all[2].session_ages = {100s + 1ns, 50s, 1s};
  all[3].session_ages[0] = std::nullopt;
  all[4].node_bytes = 799;
  all[5].watch_bytes = 799;
  return all;
}

std::string text_of(Kind kind) {
  return judge(facts_of(kind)).problems.at(0).text;
}

TEST(HealthRules, NothingWrong_IsOk) {
  EXPECT_EQ(judge(healthy()).state, HealthState::ok);
  HealthFacts idle = healthy();
  idle.lease_left = std::nullopt;
  EXPECT_TRUE(judge(idle).problems.empty());
  for (const HealthFacts& facts : nearly_wrong()) EXPECT_EQ(judge(facts).state, HealthState::ok);
}

TEST(HealthRules, Table_MatchesCode) {
  std::ifstream header(ZKLOCK_SOURCE_DIR "/include/zklock/health.h");
  std::map<std::string, std::string> states;
  for (std::string line; std::getline(header, line);) {
    const auto first = line.find("| ");
    const auto second = line.find(" | ", first + 1);
    if (!line.starts_with("/// |") || second == std::string::npos) continue;
    std::string name = line.substr(first + 2, second - first - 2);
    name.erase(name.find_last_not_of(' ') + 1);
    states[name] = line.substr(second + 3, line.find(' ', second + 3) - second - 3);
  }
  for (int i = 0; to_string(static_cast<Kind>(i)) != "unknown"; ++i) {
    const auto kind = static_cast<Kind>(i);
    const std::string name(to_string(kind));
    const Health health = judge(facts_of(kind));
    ASSERT_EQ(health.problems.size(), 1U) << name;
    EXPECT_EQ(health.problems[0].kind, kind);
    EXPECT_EQ(to_string(health.problems[0].state), states[name]) << name;
    EXPECT_EQ(health.state, health.problems[0].state);
  }
  EXPECT_EQ(to_string(Kind::watch_bytes_high), "watch_bytes_high");
}

TEST(HealthRules, Texts_SayWhatIsWrong) {
  EXPECT_EQ(text_of(Kind::auth_refused), "the servers require SASL");
  EXPECT_EQ(text_of(Kind::disconnected), "no connection for 12 s: no route");
  EXPECT_EQ(text_of(Kind::lease_low),
            "the lease ends in 2499 ms; heartbeats are answered late or not at all");
  EXPECT_EQ(text_of(Kind::callback_stuck), "f has run for 30 s since its hold or leadership ended");
  EXPECT_EQ(text_of(Kind::delete_refused),
            "an ACL refuses the delete of 2 lock znodes; see the log");
  EXPECT_EQ(text_of(Kind::sessions_short), "3 sessions began in the last 101 s");
  EXPECT_EQ(text_of(Kind::node_bytes_high), "the lock znodes use 800 of 1000 bytes");
}

TEST(HealthRules, SeveralProblems_GravestDecides) {
  HealthFacts facts = facts_of(Kind::disconnected);
  facts.refused_deletes = 1;
  facts.lease_left = 0s;
  const Health health = judge(facts);
  EXPECT_EQ(health.state, HealthState::failed);
  ASSERT_EQ(health.problems.size(), 3U);
  EXPECT_EQ(health.problems[0].kind, Kind::delete_refused);
  EXPECT_EQ(health.problems[1].kind, Kind::disconnected);
  EXPECT_EQ(health.problems[1].age, 12s);
  EXPECT_EQ(health.problems[2].kind, Kind::lease_low);
}

TEST(HealthRules, LongSessionTimeout_RaisesTheThresholds) {
  HealthFacts facts = healthy();
  facts.timeout = 1min;
  facts.oldest_callback.emplace("f", 59s);
  facts.lease_left = 30s;
  EXPECT_EQ(judge(facts).state, HealthState::ok);
  facts.oldest_callback->second = 179s;
  EXPECT_EQ(judge(facts).state, HealthState::degraded);
  facts.oldest_callback->second = 180s;
  EXPECT_EQ(judge(facts).state, HealthState::failed);
}

TEST(HealthRules, NewClient_HasNoConnectionYet) {
  const Health health = judge({.connection_problem = "no session is open"});
  EXPECT_EQ(health.state, HealthState::degraded);
  EXPECT_EQ(health.problems.at(0).text, "no connection: no session is open");
  EXPECT_EQ(health.problems.at(0).age, 0s);
  EXPECT_EQ(to_string(health.state), "degraded");
}

}  // namespace
}  // namespace zklock::core
