// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "zklock/engine/path_lock.h"
#include "zklock/engine/time_limit.h"

namespace zklock::detail {

/// These functions read and change the shared permit count of a semaphore; see
/// core/child_nodes.h. They block until round_trip_deadline() of `limit` at most. They throw
/// Error. `initial`: the count if none is stored yet.

std::int32_t read_permit_count(PathLock& path_lock, std::int32_t initial, const TimeLimit& limit);

/// Stores the count. Creates its znode if it does not exist.
void set_permit_count(PathLock& path_lock, std::int32_t count, const TimeLimit& limit);

/// Adds `change` and returns the new count. Concurrent changes are all applied.
std::int32_t add_to_permit_count(PathLock& path_lock, std::int32_t change, std::int32_t initial,
                                 const TimeLimit& limit);

}  // namespace zklock::detail
