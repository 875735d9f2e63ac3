// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "chaos/crew.h"
#include "chaos/desk.h"
#include "chaos/ensemble.h"
#include "chaos/fault.h"

namespace zklock::chaos {

// Each does one fault from its beginning to its end, and returns whether it took place: a request to
// be lost may not have come, a server not be there. Blocks meanwhile, for some seconds mostly. What
// must not be, and is seen on the way, is told to the desk. They may throw what testing::RawClient
// throws, then nothing took place.
bool do_to_client(const PlannedFault& planned, CrewMember& client, Ensemble& ensemble, Desk& desk);
bool do_to_servers(const PlannedFault& planned, Ensemble& ensemble, Desk& desk);
bool do_to_nodes(const PlannedFault& planned, const Ensemble& ensemble, Desk& desk);

}  // namespace zklock::chaos
