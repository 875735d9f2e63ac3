// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/model/simulator/plan.h"

namespace zklock::simulator {

/// Leaves out steps, and what the setup has of its own, for as long as `fails` says so.
Plan shrink(Plan plan, const std::function<bool(const Plan&)>& fails);

/// As above, where the plan violates that invariant.
Plan shrink(const Plan& plan, const std::string& invariant);

}  // namespace zklock::simulator
