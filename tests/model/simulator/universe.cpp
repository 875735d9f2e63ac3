// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/universe.h"

#include <algorithm>
#include <chrono>
#include <exception>

namespace zklock::simulator {

using std::chrono::microseconds;
using std::chrono::milliseconds;

Universe::Universe(const Setup& setup, std::uint64_t seed) : setup_(setup), rng_(seed) {
  for (int e = 0; e < setup.ensembles; ++e) {
    SimEnsemble& ensemble = *ensembles_.emplace_back(std::make_unique<SimEnsemble>(clock_));
    ensemble.set_exists_rule(setup.exists_needs_read != 0 ? model::ExistsRule::needs_read
                                                          : model::ExistsRule::needs_nothing);
    ensemble.set_contenders_readable(setup.hides_contenders == 0);
  }
}

SimProcess& Universe::start_process(int slot) {
  const Process number = processes_.size() + 1;
  processes_.push_back(std::make_unique<SimProcess>(clock_, ensembles_, number, slot, setup_));
  return *processes_.back();
}

std::uint64_t Universe::served() const {
  std::uint64_t sum = 0;
  for (const auto& process : processes_) {
    for (const auto& line : process->lines()) sum += line->coordinator.served();
  }
  return sum;
}

Duration Universe::latency() {
  const Duration usual = microseconds(setup_.latency_us);
  return rng_.between(usual / 4, 2 * usual);
}

void Universe::consider(Next& best, Instant at, What what, SimProcess& process, Line* line) const {
  const Instant due = std::max(at, now());
  if (due < best.at) best = {due, what, &process, line};
}

void Universe::look_at(SimProcess& process, Line& line, Next& best) {
  SimCoordinator& own = line.coordinator;
  if (!own.can_serve()) {
    line.serve_at.reset();
  } else {
    const Duration more = now() < line.slow_until ? line.slow_to_server : Duration();
    if (!line.serve_at) line.serve_at = now() + latency() + more;
    const Instant from = own.wants_new_session()
                             ? std::max(line.no_server_until, line.no_new_session_until)
                             : line.no_server_until;
    consider(best, std::max(*line.serve_at, from), What::serve, process, &line);
  }
  if (!own.can_receive()) {
    line.receive_at.reset();
  } else {
    const Duration more = now() < line.slow_until ? line.slow_to_client : Duration();
    if (!line.receive_at) line.receive_at = now() + latency() + more;
    consider(best, *line.receive_at, What::receive, process, &line);
  }
  if (!own.can_arrive_late()) {
    line.late_at.reset();
  } else {
    if (!line.late_at) line.late_at = now() + 4 * latency();
    consider(best, *line.late_at, What::late, process, &line);
  }
  if (!own.is_down() || own.is_closed() || !process.runs()) {
    line.connect_at.reset();
  } else {
    if (!line.connect_at)
      line.connect_at = now() + rng_.between(milliseconds(1), milliseconds(300));
    consider(best, std::max(*line.connect_at, line.no_server_until), What::connect, process, &line);
  }
}

void Universe::look_at(SimProcess& process, Next& best) {
  if (process.runs() && !process.handlers().empty()) {
    if (!process.handler_at) process.handler_at = now() + microseconds(rng_.from_to(5, 100));
    consider(best, std::max(*process.handler_at, process.handlers_blocked_until), What::handler,
             process, nullptr);
  }
  if (process.runs() && !process.losses().empty()) {
    // The callback before it can take some time.
    const int most = rng_.one_in(8) ? 300 : 50;
    if (!process.loss_at) process.loss_at = now() + microseconds(rng_.from_to(5, most));
    consider(best, *process.loss_at, What::loss, process, nullptr);
  }
  for (auto& line : process.lines()) look_at(process, *line, best);
}

Universe::Next Universe::next() {
  Next best;
  if (const auto due = clock_.next_due()) best.at = *due;
  for (auto& process : processes_) look_at(*process, best);
  return best;
}

bool Universe::step(Instant when) {
  const Next found = next();
  if (found.at > when) {
    clock_.advance_to(when);
    return false;
  }
  ++events_;
  run(found);
  return true;
}

void Universe::shut_down() {
  on_message = nullptr;
  for (auto& process : processes_) {
    process->close();
  }
  for (int round = 0; round < 10; ++round) {
    for (auto& process : processes_) {
      while (!process->losses().empty()) run_task(process->losses());
      while (!process->handlers().empty()) run_task(process->handlers());
    }
    clock_.clear();
  }
}

void Universe::run_until(Instant when) {
  while (step(when)) {
  }
}

void Universe::run(const Next& next) {
  if (next.what == What::timer) {
    clock_.run_next();
    return;
  }
  clock_.stand_at(next.at);
  switch (next.what) {
    case What::timer: return;
    case What::serve:
      next.line->serve_at.reset();
      next.line->sent_after = next.line->connected_at;
      next.line->coordinator.serve();
      return;
    case What::receive:
      next.line->receive_at.reset();
      if (on_message) on_message(*next.process);
      next.line->coordinator.receive();
      return;
    case What::late:
      next.line->late_at.reset();
      next.line->sent_after = {};
      next.line->coordinator.arrive_late();
      return;
    case What::connect:
      next.line->connect_at.reset();
      next.line->connected_at = now();
      next.line->coordinator.reconnect();
      return;
    case What::handler:
      next.process->handler_at.reset();
      run_task(next.process->handlers());
      return;
    case What::loss:
      next.process->loss_at.reset();
      run_task(next.process->losses());
      return;
  }
}

// Catches exceptions as the callback threads do.
void Universe::run_task(SimDispatcher& dispatcher) {
  try {
    dispatcher.run_next();
  } catch (const std::exception&) {
    ++escaped_;
  }
}

}  // namespace zklock::simulator
