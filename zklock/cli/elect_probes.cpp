// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/elect_probes.h"

#include "zklock/cli/io/http_rules.h"
#include "zklock/lock_state.h"

namespace zklock::cli {

namespace {

HttpAnswer livez(const ProbeFacts& facts) {
  if (facts.health.state != HealthState::failed) return text_answer(200, "ok");
  std::string text;
  for (const HealthProblem& problem : facts.health.problems) {
    if (problem.state != HealthState::failed) continue;
    text += (text.empty() ? "" : "; ") + problem.text;
  }
  return text_answer(503, text);
}

HttpAnswer readyz(const ProbeFacts& facts) {
  if (facts.leads && facts.state == RunState::running) return text_answer(200, "ok");
  if (facts.leads) return text_answer(503, "this process leads, but its command does not run");
  if (!facts.is_connected) return text_answer(503, "standby: no connection to ZooKeeper");
  if (!facts.leader) return text_answer(503, "standby: there is no leader");
  std::string text = "standby: led by " + to_string(*facts.leader);
  if (facts.leader->held_since) {
    text += " for " + duration_text(std::chrono::duration_cast<std::chrono::milliseconds>(
                          facts.now - *facts.leader->held_since));
  }
  return text_answer(503, text);
}

}  // namespace

HttpAnswer probe_answer(std::string_view path, const ProbeFacts& facts) {
  if (path == "/livez") return livez(facts);
  if (path == "/readyz") return readyz(facts);
  return text_answer(404, "no such page");
}

ElectProbes::ElectProbes(Client& client, const std::string& path,
                         const HttpServer::Endpoint& endpoint)
    : client_(client),
      server_(
          io_, endpoint,
          [this](std::string_view path_of_probe, std::string_view /*query*/) {
            return probe_answer(path_of_probe, facts());
          },
          // A probe can name the service by any host name. The answers need no protection against
          // DNS rebinding: they name the leader and show no data of the program.
          {std::string(kAnyHost)}),
      observer_(client, path),
      subscription_(observer_.add_listener([this](const ElectionState& state) {
        const std::lock_guard guard(mutex_);
        leader_ = state.leader;
      })),
      thread_([this] { io_.run(); }) {}

ElectProbes::~ElectProbes() {
  io_.stop();
  thread_.join();
}

void ElectProbes::on_leading(const Leadership& leadership) {
  const std::lock_guard guard(mutex_);
  leadership_ = leadership;
}

void ElectProbes::on_state(RunState state) {
  const std::lock_guard guard(mutex_);
  state_ = state;
}

ProbeFacts ElectProbes::facts() const {
  ProbeFacts facts{.health = client_.health(),
                   .is_connected = client_.is_connected(),
                   .now = std::chrono::system_clock::now()};
  const std::lock_guard guard(mutex_);
  facts.state = state_;
  facts.leads = leadership_.is_valid();
  facts.leader = leader_;
  return facts;
}

}  // namespace zklock::cli
