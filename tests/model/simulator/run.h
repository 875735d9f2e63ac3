// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tests/model/simulator/checker.h"
#include "tests/model/simulator/fault.h"
#include "tests/model/simulator/plan.h"

namespace zklock::simulator {

/// What one run, or many, came to.
struct Tally {
  std::uint64_t seeds = 0;
  std::uint64_t operations = 0;  ///< requests that arrived at the servers
  std::uint64_t calls = 0;
  std::uint64_t grants = 0;
  std::uint64_t losses = 0;         ///< that were told
  std::uint64_t stale_refused = 0;  ///< writes with tokens that were too old
  std::uint64_t guarded = 0;        ///< writes of guarded transactions, that were carried out
  std::uint64_t events = 0;
  std::uint64_t milliseconds = 0;  ///< of simulated time
  std::uint64_t violations = 0;
  FaultCounts faults{};

  void add(const Tally& other) noexcept;
  std::uint64_t all_faults() const noexcept;
};

struct Run {
  Tally tally;
  std::optional<Violation> violation;
  Instant began;
};

/// Without a cause for losses in the plan, nothing is lost before the simulation is healed, but a
/// leadership that its user has ended.
std::optional<Violation> lost_without_cause(const Plan& plan, const History& history);

/// Runs the plan, to its end and until everything has come to rest. `trace` is given every line of
/// the history.
Run run(const Plan& plan, const std::function<void(const std::string&)>& trace = {});

}  // namespace zklock::simulator
