// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "zklock/client/coordinator.h"
#include "zklock/deadline.h"
#include "zklock/recipes/client_core.h"

namespace zklock::recipes {

/// How long to wait for a round trip: until `deadline`, or until the servers could not be reached
/// for ClientOptions::connection_timeout. A deadline that has passed means a single attempt.
Deadline for_one_round(ClientCore& core, Deadline deadline);

using OnReply = std::function<void(const client::Reply&)>;

/// Sends the requests, on whichever session is current, and blocks until all replies are in, which
/// it returns in the order of the requests; nothing when `limit` came first: then what has not been
/// sent never will be. An interruption point. None of the requests may have a watch. `heard` is told
/// of each reply, also of those that nobody waits for any more, on a thread that must not be kept.
///
/// Thread-safety: any thread.
std::optional<std::vector<client::Reply>> round_trip(ClientCore& core, Deadline limit,
                                                     std::vector<client::Operation> operations,
                                                     const OnReply& heard = {});

}  // namespace zklock::recipes
