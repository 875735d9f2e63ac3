// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "chaos/collector.h"
#include "chaos/crew.h"
#include "chaos/ensemble.h"
#include "chaos/fault.h"

namespace zklock::chaos {

// Each function injects one fault, and returns at its end whether the fault took place.
// It may not take place: for example, no request of the kind came, or no server ran. Blocks
// meanwhile, usually for some seconds. Reports violations to the collector. Throws
// std::runtime_error; the fault did not take place then.
bool do_to_client(const PlannedFault& planned, CrewMember& client, Ensemble& ensemble,
                  Collector& collector);
bool do_to_servers(const PlannedFault& planned, Ensemble& ensemble, Collector& collector);
bool do_to_nodes(const PlannedFault& planned, const Ensemble& ensemble, Collector& collector);

}  // namespace zklock::chaos
