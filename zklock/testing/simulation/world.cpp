// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/simulation/world.h"

#include <algorithm>
#include <stdexcept>

namespace zklock::model {

World::World(std::size_t clients, const ClientOptions& options) {
  for (std::size_t c = 0; c < clients; ++c) add_client(options, ensemble_);
}

std::size_t World::add_client(const ClientOptions& options, SimEnsemble& ensemble) {
  const std::size_t c = clients_.size();
  clients_.push_back(std::make_unique<Client>(clock_, ensemble, Process{c + 1}, options));
  return c;
}

std::vector<Step> World::steps() const {
  std::vector<Step> enabled;
  steps(enabled);
  return enabled;
}

void World::steps(std::vector<Step>& enabled) const {
  enabled.clear();
  for (std::size_t c = 0; c < clients_.size(); ++c) {
    const SimCoordinator& coordinator = clients_[c]->coordinator;
    if (coordinator.can_arrive_late()) enabled.push_back({Step::Kind::late, c});
    if (coordinator.can_serve()) enabled.push_back({Step::Kind::serve, c});
    if (coordinator.can_receive()) enabled.push_back({Step::Kind::receive, c});
    if (can_run_task(*clients_[c])) enabled.push_back({Step::Kind::task, c});
  }
  if (clock_.next_due()) enabled.push_back({Step::Kind::timer});
}

void World::run(const Step& step) {
  switch (step.kind) {
    case Step::Kind::serve: client(step.client).serve(); return;
    case Step::Kind::receive: client(step.client).receive(); return;
    case Step::Kind::late: client(step.client).arrive_late(); return;
    case Step::Kind::task:
      if (can_run_task(*clients_.at(step.client))) dispatcher(step.client).run_next();
      return;
    case Step::Kind::timer: clock_.run_next(); return;
  }
}

std::size_t World::run_round() {
  steps(enabled_);
  std::size_t taken = 0;
  for (const Step& step : enabled_) {
    const bool later = step.kind == Step::Kind::timer && clock_.next_due() > now();
    if (later) continue;
    run(step);
    ++taken;
  }
  return taken;
}

std::optional<Step::Kind> World::run_one() {
  if (round_.empty()) {
    steps(round_);
    const bool is_later = clock_.next_due() > now();
    std::erase_if(round_, [is_later](const Step& step) {
      return is_later && step.kind == Step::Kind::timer;
    });
    std::ranges::reverse(round_);
  }
  if (round_.empty()) return std::nullopt;
  const Step step = round_.back();
  round_.pop_back();
  // Time has not passed, but an earlier step may have cancelled the timer that was due.
  if (step.kind != Step::Kind::timer || clock_.next_due() <= std::optional(now())) run(step);
  return step.kind;
}

std::size_t World::run_all(std::size_t limit) {
  std::size_t taken = 0;
  while (const std::size_t more = run_round()) {
    taken += more;
    if (taken > limit) throw std::runtime_error("the simulated world does not come to rest");
  }
  return taken;
}

void World::run_until(Instant when) {
  run_all();
  for (auto due = clock_.next_due(); due && *due <= when; due = clock_.next_due()) {
    clock_.run_next();
    run_all();
  }
  clock_.advance_to(when);
}

bool World::run_until(const std::function<bool()>& done, Duration limit) {
  const Instant end = now() + limit;
  while (!done()) {
    if (run_round() != 0) continue;
    const auto due = clock_.next_due();
    if (!due || *due > end) return false;
    clock_.run_next();
  }
  return true;
}

void World::restart_servers() {
  for (auto& client : clients_) client->coordinator.disconnect();
  ensemble_.restart();
}

}  // namespace zklock::model
