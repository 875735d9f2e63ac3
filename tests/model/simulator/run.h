// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tests/model/checker.h"
#include "tests/model/simulator/fault.h"
#include "tests/model/simulator/plan.h"

namespace zklock::simulator {

using model::History;
using model::Violation;

/// The figures of a run, or of many runs.
struct Tally {
  std::uint64_t seeds = 0;
  std::uint64_t operations = 0;  ///< requests that arrived at a server
  std::uint64_t calls = 0;
  std::uint64_t grants = 0;
  std::uint64_t losses = 0;         ///< notified losses
  std::uint64_t stale_refused = 0;  ///< refused writes with older tokens
  std::uint64_t guarded = 0;        ///< executed writes of guarded transactions
  std::uint64_t events = 0;
  std::uint64_t milliseconds = 0;  ///< simulated time
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

/// Returns a violation if a loss before the healing has no cause in the plan. Causes are faults,
/// forced releases, maximum hold times and long latencies. A leadership that its program ended is
/// not a loss.
std::optional<Violation> lost_without_cause(const Plan& plan, const History& history);

/// Runs the plan to its end, and until everything is at rest. Passes each line of the history to
/// `trace`.
Run run(const Plan& plan, const std::function<void(const std::string&)>& trace = {});

}  // namespace zklock::simulator
