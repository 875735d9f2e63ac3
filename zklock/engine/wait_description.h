// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "zklock/engine/path_lock.h"

namespace zklock::detail {

/// If the path has more children, describe_wait() logs only their number. Otherwise all clients of
/// a long queue would read the whole queue, at a cost of the square of its length.
constexpr std::int32_t kMostListed = 200;

/// Describes in the log what the contenders of this client at one path wait for. Counts the
/// children, and reads the list of them, the shared permit count if there is one, and the znode of
/// the first holder. Sends one request after the other, and occupies no thread meanwhile. If a
/// request fails, or the client is disconnected, nothing is logged. `turn`: retained until the end.
/// Any mutex of a path may be held.
void describe_wait(std::shared_ptr<PathLock> path_lock, std::shared_ptr<void> turn);

}  // namespace zklock::detail
