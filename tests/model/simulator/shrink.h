// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/model/simulator/plan.h"

namespace zklock::simulator {

/// Removes steps, and resets values of the setup to their defaults, as long as `fails` returns
/// true.
Plan shrink(Plan plan, const std::function<bool(const Plan&)>& fails);

/// Shrinks the plan as long as it violates the invariant.
Plan shrink(const Plan& plan, const std::string& invariant);

}  // namespace zklock::simulator
