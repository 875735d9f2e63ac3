// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zklock/deadline.h"
#include "zklock/lock_observer.h"
#include "zklock/participant.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

/// Reads a lock's queue without contending. These calls block, at most until `deadline` or for
/// ClientOptions::connection_timeout, whichever comes first, and throw Error.

/// The contenders' nodes, in the order of arrival.
std::vector<core::NodeName> read_queue(const std::shared_ptr<LockEngine>& engine,
                                       Deadline deadline);

/// How many contenders stand before this client's contender of `owner`; nothing without one.
std::optional<std::size_t> read_position(const std::shared_ptr<LockEngine>& engine,
                                         const Owner& owner, Deadline deadline);

/// The contenders with what their nodes say; those that vanish meanwhile are left out.
/// `all_permits`: of a semaphore whose contenders' names do not say how many there are.
std::vector<Participant> read_participants(const std::shared_ptr<LockEngine>& engine,
                                           Deadline deadline, std::int32_t all_permits = 0);

/// Who is first, and how many there are.
LockState read_state(const std::shared_ptr<LockEngine>& engine, Deadline deadline);

/// Of the reply to a Get of the first contender's node: ok, or no_auth.
LockState state_of(LockEngine& engine, const std::vector<core::NodeName>& queue,
                   const client::Reply& first);

}  // namespace zklock::recipes
