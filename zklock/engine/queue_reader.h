// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "zklock/core/znode_name.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/queue_view.h"
#include "zklock/engine/time_limit.h"
#include "zklock/participant.h"

namespace zklock::detail {

// These functions read a lock's queue without contending. They block until round_trip_deadline() of
// `limit` at most. They throw Error.

/// Returns the names of the contenders, in the order of core::contenders().
std::vector<core::ZnodeName> read_queue(const std::shared_ptr<PathLock>& path_lock,
                                        const TimeLimit& limit);

/// Returns how many contenders are ahead of this client's contender of `owner`, or nullopt if there
/// is no such contender.
std::optional<std::size_t> read_position(const std::shared_ptr<PathLock>& path_lock,
                                         const Owner& owner, const TimeLimit& limit);

/// Returns the contenders, as described by their znodes. Omits those that are deleted meanwhile.
/// But if a contender may queue under another name now, lists again, a few times.
/// `total_permits`: the permit count of a semaphore whose contenders' names do not contain it
/// (shared permit count).
std::vector<Participant> read_participants(const std::shared_ptr<PathLock>& path_lock,
                                           const TimeLimit& limit, std::int32_t total_permits = 0);

/// Reads the view. Fast hand-offs can outdate the list before its holders are read. Then lists
/// again, a few times. In the end, only the names of such holders are known.
QueueView read_view(const std::shared_ptr<PathLock>& path_lock, ViewScope scope,
                    const TimeLimit& limit);

}  // namespace zklock::detail
