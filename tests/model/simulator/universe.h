// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/model/simulator/process.h"
#include "tests/model/simulator/rng.h"

namespace zklock::simulator {

/// The ensembles, the processes and the network between them. They act by themselves. The seed
/// determines the latency of each message.
///
/// Thread-safety: none.
class Universe {
 public:
  Universe(const Setup& setup, std::uint64_t seed);
  Universe(const Universe&) = delete;
  Universe& operator=(const Universe&) = delete;

  SimClock& clock() noexcept { return clock_; }
  Instant now() const noexcept { return clock_.now(); }
  Rng& rng() noexcept { return rng_; }
  SimEnsemble& ensemble(std::size_t i) noexcept { return *ensembles_[i]; }
  std::size_t ensembles() const noexcept { return ensembles_.size(); }

  SimProcess& start_process(int slot);
  std::vector<std::unique_ptr<SimProcess>>& processes() noexcept { return processes_; }

  /// Runs all events until `when`.
  void run_until(Instant when);
  /// Runs the next event if it is due by `when`. Otherwise advances to `when` and returns false.
  bool step(Instant when);

  /// Closes all clients and runs their callbacks. After that nothing runs.
  void shut_down();

  /// Called before a client receives a message.
  std::function<void(SimProcess&)> on_message = {};
  /// Returns the number of exceptions that left a callback.
  std::uint64_t escaped() const noexcept { return escaped_; }
  /// Returns the number of requests that servers have executed or refused.
  std::uint64_t served() const;
  std::uint64_t events() const noexcept { return events_; }

 private:
  enum class What { timer, serve, receive, late, connect, handler, loss };
  struct Next {
    Instant at = Instant::max();
    What what = What::timer;
    SimProcess* process = nullptr;
    Line* line = nullptr;
  };
  Next next();
  void look_at(SimProcess& process, Line& line, Next& best);
  void look_at(SimProcess& process, Next& best);
  void consider(Next& best, Instant at, What what, SimProcess& process, Line* line) const;
  void run(const Next& next);
  void run_task(SimDispatcher& dispatcher);
  Duration latency();

  const Setup& setup_;
  Rng rng_;
  SimClock clock_;
  std::vector<std::unique_ptr<SimEnsemble>> ensembles_;
  std::vector<std::unique_ptr<SimProcess>> processes_;
  std::uint64_t escaped_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace zklock::simulator
