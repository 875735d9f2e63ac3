// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/simulator/plan.h"
#include "zklock/client.h"
#include "zklock/engine/client_core.h"
#include "zklock/testing/simulation/sim_clock.h"
#include "zklock/testing/simulation/sim_coordinator.h"
#include "zklock/testing/simulation/sim_dispatcher.h"
#include "zklock/testing/simulation/sim_ensemble.h"

namespace zklock::simulator {

using model::Process;
using model::SimClock;
using model::SimCoordinator;
using model::SimDispatcher;
using model::SimEnsemble;

/// A client of one ensemble, and the network between them.
struct Line {
  Line(SimClock& clock, SimEnsemble& servers, Process process, model::ClientOptions options)
      : ensemble(servers), coordinator(clock, servers, process, options) {}

  SimEnsemble& ensemble;
  SimCoordinator coordinator;
  std::shared_ptr<detail::ClientCore> core;
  std::unique_ptr<Client> client;

  // When the next one of each kind is due. Without a value: its latency is not drawn yet.
  std::optional<Instant> serve_at;
  std::optional<Instant> receive_at;
  std::optional<Instant> late_at;
  std::optional<Instant> connect_at;
  /// The request that the server executes was sent after this time.
  Instant sent_after{};
  Instant connected_at{};
  Instant no_server_until{};
  /// The client's server stays connected to the leader until then: an assumption about pauses.
  Instant no_isolation_until{};
  Instant no_new_session_until{};
  Instant slow_until{};
  Duration slow_to_server{};
  Duration slow_to_client{};
};

/// A process of the simulation: its clients, its threads, and whether it runs.
///
/// Thread-safety: none, like the whole simulator.
class SimProcess {
 public:
  SimProcess(SimClock& clock, std::vector<std::unique_ptr<SimEnsemble>>& ensembles, Process number,
             int slot, const Setup& setup);
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;
  ~SimProcess();

  Process number() const noexcept { return number_; }
  int slot() const noexcept { return slot_; }
  std::vector<std::unique_ptr<Line>>& lines() noexcept { return lines_; }
  Line& line(std::size_t i) noexcept { return *lines_[i]; }
  Client& client(std::size_t i = 0) noexcept { return *lines_[i]->client; }
  model::ProcessClock& clock() noexcept { return clock_; }
  SimDispatcher& handlers() noexcept { return handlers_; }
  SimDispatcher& losses() noexcept { return losses_; }

  /// Stops the process, as SIGSTOP does.
  void pause();
  void resume();
  bool paused() const noexcept { return paused_; }
  /// Ends the process without any call to its objects, which stay allocated. `hangs_up`: the
  /// servers immediately learn that its connections are closed.
  void kill(bool hangs_up = true);
  bool dead() const noexcept { return dead_; }
  /// Closes the clients of the process.
  void close();
  bool closed() const noexcept { return closed_; }
  /// Returns whether the credential of one of its clients was refused.
  bool refused() const;
  bool runs() const noexcept { return !paused_ && !dead_; }

  Instant handlers_blocked_until{};
  Instant listeners_throw_until{};
  /// Until then the process was stopped, had no threads, or its threads were blocked.
  Instant excused_until{};
  std::optional<Instant> handler_at;
  std::optional<Instant> loss_at;

 private:
  const Process number_;
  const int slot_;
  model::ProcessClock clock_;
  SimDispatcher handlers_;
  SimDispatcher losses_;
  std::vector<std::unique_ptr<Line>> lines_;
  bool paused_ = false;
  bool dead_ = false;
  bool closed_ = false;
};

}  // namespace zklock::simulator
