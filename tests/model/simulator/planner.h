// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tests/model/simulator/plan.h"

namespace zklock::simulator {

/// Returns the plan that the seed determines.
Plan make_plan(std::uint64_t seed);

}  // namespace zklock::simulator
