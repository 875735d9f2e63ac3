// SPDX-License-Identifier: Apache-2.0
// The programs: the znodes that they must not leave behind, and the metrics at rest.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <utility>

#include "tests/model/simulator/leader.h"
#include "tests/model/simulator/users.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/error.h"

namespace zklock::simulator {

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

/// Returns what is wrong with the metrics of a client at rest, or null. `may_join`: the most calls
/// that were granted with an earlier call of their owner.
const char* contradiction_in(const LockMetrics& lock, std::uint64_t may_join) {
  const auto ended = [&lock](HoldEnd end) {
    return lock.ended_holds.at(static_cast<std::size_t>(end)).count();
  };
  const std::uint64_t granted =
      lock.acquires.at(static_cast<std::size_t>(AcquireEnd::granted)).count();
  const std::uint64_t lost = ended(HoldEnd::lost) + ended(HoldEnd::expired);
  const std::uint64_t holds = ended(HoldEnd::released) + lost + ended(HoldEnd::closed);
  if (lock.holds + lock.waiters + lock.leaders > 0) return "a hold or a waiter is left";
  if (holds > granted) return "more holds ended than calls were granted";
  if (granted > holds + may_join) return "a hold began and has not ended";
  const auto losses = std::accumulate(lock.losses.begin(), lock.losses.end(), std::uint64_t{0});
  if (losses != lost) return "the losses are not those of the reasons";
  return nullptr;
}

bool has_work(detail::EngineContext& core) {
  const detail::EngineLock lock({core});
  return !core.work().is_idle();
}

}  // namespace

void Users::sweep(std::size_t ensemble, int path, Instant until) {
  SimProcess& process = universe_.start_process(0);
  ObjectPlan object{.kind = LockClass::reentrant, .path = path};
  PlanStep step{.hold = 1000};
  Call& call = new_call(process, object, step);
  call.ensemble = ensemble;
  call.owner = Owner::unique();
  ReentrantMutex mutex(process.client(ensemble), path_of(path));
  history_writer_.note({.kind = Event::Kind::wanted, .hold = call.id, .owner = call.owner_number});
  ++waiting_;
  mutex.async_acquire({.owner = call.owner}, [this, &call](Hold hold, std::exception_ptr error) {
    ended(call, {.hold = std::move(hold), .error = std::move(error)});
  });
  while (!(call.ended && call.over) && universe_.step(until)) {
  }
  if (call.ended && !call.got.hold && call.parts.empty()) {
    history_writer_.note({.kind = Event::Kind::left, .text = "a lock that cannot be acquired"});
  }
  while (has_work(*process.line(ensemble).core) && universe_.step(until)) {
  }
}

bool Users::nodes_are_left() const {
  for (std::size_t e = 0; e < universe_.ensembles(); ++e) {
    for (int path = 0; path < plan_.setup.paths; ++path) {
      const model::Node* const parent = universe_.ensemble(e).find(path_of(path));
      if (parent == nullptr) continue;
      if (std::ranges::any_of(parent->children, [](const auto& name) { return name != "count"; })) {
        return true;
      }
    }
  }
  return false;
}

void Users::look_for_leftovers() {
  const auto say = [this](std::string what) {
    history_writer_.note({.kind = Event::Kind::left, .text = std::move(what)});
  };
  for (std::size_t e = 0; e < universe_.ensembles(); ++e) {
    for (int path = 0; path < plan_.setup.paths; ++path) {
      const model::Node* const parent = universe_.ensemble(e).find(path_of(path));
      if (parent == nullptr) continue;
      for (const std::string& name : parent->children) {
        if (name != "count") say("the node " + path_of(path) + "/" + name);
      }
    }
  }
  for (const auto& [number, process] : commits_) {
    if (!process->dead()) say("a commit without an outcome");
  }
  for (const auto& process : universe_.processes()) {
    if (process->dead() || process->closed()) continue;
    for (const auto& line : process->lines()) {
      if (line->coordinator.server_watches() != 0) say("a watch at the servers");
      if (line->coordinator.live_interests() != 0) say("an interest in a watch");
      if (has_work(*line->core)) say("background work");
      if (line->core->keeper().is_used()) say("a member of a session");
      for (int path = 0; path < plan_.setup.paths; ++path) {
        if (!line->core->path_lock(core::LockPath(path_of(path)))->nodes().empty())
          say("an entry of an path_lock's map");
      }
    }
  }
}

void Users::look_at_metrics() {
  for (const auto& process : universe_.processes()) {
    if (process->dead()) continue;
    // Several calls of one owner can wait for one grant, in each part of a composite lock.
    constexpr std::uint64_t kMostParts = 3;
    const auto may_join =
        kMostParts *
        static_cast<std::uint64_t>(std::ranges::count_if(calls_, [&](const auto& call) {
          return call->process == process.get() && call->step.owner != 0;
        }));
    for (const auto& line : process->lines()) {
      for (const LockMetrics& lock : line->core->metrics().locks) {
        if (const char* const wrong = contradiction_in(lock, may_join)) {
          history_writer_.note({.kind = Event::Kind::miscounted, .text = wrong});
        }
      }
    }
  }
}

}  // namespace zklock::simulator
