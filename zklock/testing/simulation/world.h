// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "zklock/testing/simulation/sim_clock.h"
#include "zklock/testing/simulation/sim_coordinator.h"
#include "zklock/testing/simulation/sim_dispatcher.h"
#include "zklock/testing/simulation/sim_ensemble.h"

namespace zklock::model {

/// A step that can be taken next.
struct Step {
  enum class Kind {
    serve,    ///< the server of `client` takes a request
    receive,  ///< the process of `client` receives a message
    task,     ///< the dispatcher of `client` runs a task
    late,     ///< a lingering request of `client` arrives
    timer,    ///< time advances to the next timer
  };
  Kind kind;
  std::size_t client = 0;
  friend bool operator==(const Step&, const Step&) = default;
};

/// A simulated ZooKeeper, its clients, and the driver, which decides what happens next. Nothing
/// happens without a call to it. Equal calls always lead to an equal state.
class World {
 public:
  explicit World(std::size_t clients = 1, const ClientOptions& options = {});
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  SimClock& clock() noexcept { return clock_; }
  Instant now() const noexcept { return clock_.now(); }
  SimEnsemble& ensemble() noexcept { return ensemble_; }
  /// Adds an ensemble beside the first one. Its clients are those of add_client().
  SimEnsemble& add_ensemble() {
    return *more_ensembles_.emplace_back(std::make_unique<SimEnsemble>(clock_));
  }
  /// Adds a client of `ensemble`, and returns its index.
  std::size_t add_client(const ClientOptions& options, SimEnsemble& ensemble);
  std::size_t clients() const noexcept { return clients_.size(); }
  SimCoordinator& client(std::size_t c) { return clients_.at(c)->coordinator; }
  ProcessClock& scheduler(std::size_t c) { return clients_.at(c)->clock; }
  SimDispatcher& dispatcher(std::size_t c) { return clients_.at(c)->dispatcher; }

  std::vector<Step> steps() const;
  /// Stores the enabled steps in `enabled`, and reuses its memory.
  void steps(std::vector<Step>& enabled) const;
  /// Runs the step. A step that is not enabled does nothing.
  void run(const Step& step);

  /// Runs one step that takes no time, and returns its kind. Returns std::nullopt if there is none.
  /// The clients alternate.
  std::optional<Step::Kind> run_one();
  /// Runs the clients' steps in turn until none is left at this time. Returns the number of steps.
  /// Throws std::runtime_error if the number exceeds `limit`.
  std::size_t run_all(std::size_t limit = 1'000'000);
  /// Calls run_all(), and runs all timers until `when` and the steps that follow.
  void run_until(Instant when);
  void run_for(Duration duration) { run_until(now() + duration); }
  /// Runs until `done` returns true. Returns false if it does not within `limit` of virtual time.
  bool run_until(const std::function<bool()>& done, Duration limit = std::chrono::minutes(10));

  // Faults; see SimCoordinator.
  void disconnect(std::size_t c, OnTheWay on_the_way = OnTheWay::dropped) {
    client(c).disconnect(on_the_way);
  }
  void reconnect(std::size_t c) { client(c).reconnect(); }
  void expire(std::size_t c) { client(c).expire(); }
  void lose_reply(std::size_t c, std::optional<OperationKind> kind = {}) {
    client(c).lose_reply(kind);
  }
  void lose_request(std::size_t c, std::optional<OperationKind> kind = {}) {
    client(c).lose_request(kind);
  }
  void isolate(std::size_t c) { client(c).isolate(); }
  void heal(std::size_t c) { client(c).heal(); }
  void fail_next(std::size_t c, OperationKind kind, Status status, bool carried_out = false) {
    client(c).fail_next(kind, status, carried_out);
  }
  void pause(std::size_t c) { client(c).pause(); }
  void resume(std::size_t c) { client(c).resume(); }
  /// Restarts all servers: every connection breaks, and there is a new leader.
  void restart_servers();

 private:
  struct Client {
    Client(SimClock& time, SimEnsemble& ensemble, Process process, const ClientOptions& options)
        : clock(time, process), coordinator(time, ensemble, process, options) {}
    ProcessClock clock;
    SimDispatcher dispatcher;
    SimCoordinator coordinator;
  };
  /// Runs once each step that is enabled now and takes no time. Returns their number.
  std::size_t run_round();
  bool can_run_task(const Client& c) const {
    return !c.dispatcher.empty() && !c.coordinator.is_paused();
  }

  SimClock clock_;
  SimEnsemble ensemble_{clock_};
  std::vector<std::unique_ptr<SimEnsemble>> more_ensembles_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Step> enabled_;
  std::vector<Step> round_;  ///< of run_one(), the next one last
};

}  // namespace zklock::model
