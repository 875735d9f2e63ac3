// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tests/model/simulator/plan.h"

namespace zklock::simulator {

/// What happens in the world of that seed.
Plan make_plan(std::uint64_t seed);

}  // namespace zklock::simulator
