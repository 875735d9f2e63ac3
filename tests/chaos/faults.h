// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "chaos/crew.h"
#include "chaos/desk.h"
#include "chaos/ensemble.h"
#include "chaos/fault.h"

namespace zklock::chaos {

// Each function injects one fault, and returns at its end whether the fault took place.
// It may not take place: for example, no request of the kind came, or no server ran. Blocks
// meanwhile, usually for some seconds. Reports violations to the desk. Throws what
// testing::RawClient throws; the fault did not take place then.
bool do_to_client(const PlannedFault& planned, CrewMember& client, Ensemble& ensemble, Desk& desk);
bool do_to_servers(const PlannedFault& planned, Ensemble& ensemble, Desk& desk);
bool do_to_nodes(const PlannedFault& planned, const Ensemble& ensemble, Desk& desk);

}  // namespace zklock::chaos
