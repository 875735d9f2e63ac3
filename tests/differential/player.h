// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/differential/script.h"
#include "tests/differential/side.h"

namespace zklock::differential {

/// The facts that the clients observed in one step.
struct StepRecord {
  std::size_t step = 0;
  std::vector<Fact> facts;
};
using Transcript = std::vector<StepRecord>;

/// Runs the script on one side, and returns what its clients observed.
Transcript play(const Script& script, Side& side);

/// Returns the facts of every step in words. A zxid is replaced by its rank among those of the
/// transcript.
std::vector<std::string> to_lines(const Transcript& transcript);

}  // namespace zklock::differential
