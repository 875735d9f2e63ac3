// SPDX-License-Identifier: Apache-2.0
#include "tests/model/simulator/run.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "tests/model/simulator/history_writer.h"
#include "tests/model/simulator/injector.h"
#include "tests/model/simulator/seeded_inputs.h"
#include "tests/model/simulator/universe.h"
#include "tests/model/simulator/users.h"

namespace zklock::simulator {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Returns the time by which all calls and holds must have ended after the last fault. By then the
/// sessions of killed processes have expired, and all holds were held one after the other. A
/// contender behind an unreadable znode notices its delete after at most a second.
Instant end_of(const Plan& plan, Instant healed) {
  const Duration session = milliseconds(plan.setup.session_ms);
  const milliseconds handoff(plan.setup.hides_contenders != 0 ? 1'100 : 100);
  Duration longest{};
  for (const PlanStep& step : plan.steps) {
    if (step.act == Act::acquire) longest += microseconds(step.hold) + handoff;
  }
  Duration delays{};
  for (const ObjectPlan& object : plan.setup.objects) {
    delays += milliseconds(object.lock_delay + object.keep_idle_for);
  }
  const auto steps = static_cast<int>(plan.steps.size());
  return healed + 3 * session + longest + steps * delays + std::chrono::seconds(20);
}

void play(const Plan& plan, Universe& universe, Users& users, Injector& injector) {
  const Instant start = universe.now();
  for (const PlanStep& step : plan.steps) {
    universe.run_until(start + microseconds(step.at));
    if (step.act == Act::fault) {
      injector.inject(step);
    } else {
      users.act(step);
    }
  }
}

void come_to_rest(const Plan& plan, Universe& universe, HistoryWriter& history_writer, Users& users,
                  Injector& injector) {
  injector.heal();
  const bool observed = std::ranges::any_of(plan.setup.objects, [](const ObjectPlan& object) {
    return object.kind == LockClass::election_observer;
  });
  if (observed) {
    universe.run_until(universe.now() + milliseconds(plan.setup.session_ms) +
                       std::chrono::seconds(3));
    users.look_at_what_is_said();
  }
  users.wind_up();
  const Instant end = end_of(plan, universe.now());
  while (!users.all_over() && universe.step(end)) {
  }
  users.destroy_objects();
  // The sessions of killed processes expire, too.
  const Duration quarter = milliseconds(plan.setup.session_ms) / 4;
  universe.run_until(universe.now() + quarter);
  const Instant limit = universe.now() + 5 * quarter;
  while (users.nodes_are_left() && universe.now() < limit) {
    universe.run_until(universe.now() + quarter);
  }
  if (!users.nodes_are_left()) {
    universe.run_until(universe.now() + std::chrono::seconds(1));
    users.look_through_observers();
  }
  for (std::size_t e = 0; e < universe.ensembles(); ++e) {
    for (int path = 0; path < plan.setup.paths; ++path) {
      users.sweep(e, path, end + milliseconds(plan.setup.session_ms));
    }
  }
  users.drop_observers();
  universe.run_until(universe.now() + std::chrono::seconds(1));
  users.look_for_leftovers();
  users.look_at_metrics();
  history_writer.note({.kind = Event::Kind::rest});
}

}  // namespace

// A reply that takes a 48th of the session timeout can cost a hold that was granted after an idle
// time.
std::optional<Violation> lost_without_cause(const Plan& plan, const History& history) {
  const bool may_be_lost =
      plan.setup.latency_us > 2'000 ||
      std::ranges::any_of(plan.steps,
                          [](const PlanStep& step) {
                            return step.act == Act::fault || step.act == Act::force_release;
                          }) ||
      std::ranges::any_of(plan.setup.objects,
                          [](const ObjectPlan& object) { return object.max_hold != 0; });
  if (may_be_lost) return std::nullopt;
  const auto is_unexpected = [&history](const Event& event) {
    return event.kind == Event::Kind::notified &&
           std::ranges::none_of(history, [&event](const Event& other) {
             return other.kind == Event::Kind::resigned && other.hold == event.hold &&
                    &other < &event;
           });
  };
  const auto loss = std::ranges::find_if(history, is_unexpected);
  const auto healed = std::ranges::find(history, Event::Kind::healed, &Event::kind);
  if (loss >= healed) return std::nullopt;
  return Violation{"I4", "#" + std::to_string(loss->hold) + " is lost without a cause", loss->at};
}

void Tally::add(const Tally& other) noexcept {
  seeds += other.seeds;
  operations += other.operations;
  calls += other.calls;
  grants += other.grants;
  losses += other.losses;
  stale_refused += other.stale_refused;
  guarded += other.guarded;
  events += other.events;
  milliseconds += other.milliseconds;
  violations += other.violations;
  for (std::size_t i = 0; i < faults.size(); ++i) faults[i] += other.faults[i];
}

std::uint64_t Tally::all_faults() const noexcept {
  return std::accumulate(faults.begin(), faults.end(), std::uint64_t{0});
}

Run run(const Plan& plan, const std::function<void(const std::string&)>& trace) {
  seed_external_inputs(plan.seed);
  Run result;
  Universe universe(plan.setup, plan.seed);
  result.began = universe.now();
  HistoryWriter history_writer(universe, plan.setup);
  if (trace) {
    history_writer.on_event = [&](const Event& event) { trace(to_text(event, result.began)); };
  }
  for (std::size_t e = 0; e < universe.ensembles(); ++e) {
    universe.ensemble(e).create("/data");
    for (int path = 0; path < plan.setup.paths; ++path) {
      universe.ensemble(e).create(data_path_of(path));
    }
  }
  Users users(universe, history_writer, plan);
  Injector injector(universe, history_writer, users, plan.setup);
  play(plan, universe, users, injector);
  come_to_rest(plan, universe, history_writer, users, injector);

  result.violation = check(history_writer.history());
  if (!result.violation) result.violation = lost_without_cause(plan, history_writer.history());
  Tally& tally = result.tally;
  tally.seeds = 1;
  tally.operations = universe.served();
  tally.calls = users.calls();
  tally.grants = history_writer.count(Event::Kind::granted);
  tally.losses = history_writer.count(Event::Kind::notified);
  tally.stale_refused = history_writer.stale_refused();
  tally.events = universe.events();
  tally.faults = injector.counts();
  tally.guarded = static_cast<std::uint64_t>(std::ranges::count_if(
      history_writer.history(),
      [](const Event& event) { return event.kind == Event::Kind::written && event.number != 0; }));
  tally.milliseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(universe.now() - result.began).count());
  tally.violations = result.violation ? 1 : 0;
  universe.shut_down();
  return result;
}

}  // namespace zklock::simulator
