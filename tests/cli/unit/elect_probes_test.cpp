// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/elect_probes.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace zklock::cli {
namespace {

using std::chrono::minutes;
using std::chrono::system_clock;

std::string answer(const char* path, const ProbeFacts& facts) {
  const HttpAnswer answer = probe_answer(path, facts);
  return std::to_string(answer.status) + ' ' + *answer.body;
}

Health failed(const std::string& text) {
  return {HealthState::failed,
          {{.kind = HealthProblem::Kind::disconnected,
            .state = HealthState::degraded,
            .text = "no connection"},
           {.kind = HealthProblem::Kind::auth_refused, .text = text}}};
}

TEST(ProbeAnswer, Livez_FailsOnlyIfTheClientFailed) {
  EXPECT_EQ(answer("/livez", {}), "200 ok\n");
  EXPECT_EQ(answer("/livez", {.state = RunState::running, .leads = true}), "200 ok\n");
  EXPECT_EQ(answer("/livez", {.health = {HealthState::degraded, {}}, .is_connected = false}),
            "200 ok\n");
  EXPECT_EQ(answer("/livez", {.health = failed("the credential was refused")}),
            "503 the credential was refused\n");
}

TEST(ProbeAnswer, Readyz_OnlyTheLeaderWhoseCommandRuns) {
  EXPECT_EQ(answer("/readyz", {.state = RunState::running, .leads = true}), "200 ok\n");
  for (const RunState state : {RunState::holding, RunState::starting, RunState::ending,
                               RunState::sweeping, RunState::releasing}) {
    EXPECT_EQ(answer("/readyz", {.state = state, .leads = true}),
              "503 this process leads, but its command does not run\n");
  }
  // The lease has expired, and the main thread has not seen it.
  EXPECT_EQ(answer("/readyz", {.state = RunState::running, .leads = false}),
            "503 standby: there is no leader\n");
  // A failure of the client does not matter while the lease is valid.
  EXPECT_EQ(answer("/readyz", {.health = failed("x"), .state = RunState::running, .leads = true}),
            "200 ok\n");
}

TEST(ProbeAnswer, Standby_NamesTheLeader) {
  ProbeFacts facts{.now = system_clock::time_point(minutes(1'000))};
  facts.leader = Participant{};
  facts.leader->host = "db7";
  facts.leader->pid = 812;
  EXPECT_EQ(answer("/readyz", facts), "503 standby: led by db7 pid 812\n");
  facts.leader->held_since = facts.now - minutes(4);
  EXPECT_EQ(answer("/readyz", facts), "503 standby: led by db7 pid 812 for 4 m\n");
  facts.is_connected = false;
  EXPECT_EQ(answer("/readyz", facts), "503 standby: no connection to ZooKeeper\n");
}

TEST(ProbeAnswer, OtherPaths_AreNotFound) {
  for (const char* const path : {"/", "/healthz", "/livez/", "/readyz2", ""}) {
    EXPECT_EQ(probe_answer(path, {}).status, 404U) << path;
  }
}

}  // namespace
}  // namespace zklock::cli
