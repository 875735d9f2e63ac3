// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "zklock/engine/path_lock.h"

namespace zklock::detail {

/// With more children, describe_wait() logs only their number. If all clients of a long queue read
/// all of it, the cost would be the square of its length.
constexpr std::int32_t kMostListed = 200;

/// Describes in the log what the contenders of this client at one path wait for. Counts the
/// children, and reads the list of them, the shared permit count if there is one, and the znode of
/// the first holder. Sends the requests one by one, and occupies no thread meanwhile. If a request
/// fails, or the client is disconnected, nothing is logged. `turn`: retained until the end. The
/// engine mutex may be held.
void describe_wait(std::shared_ptr<PathLock> path_lock, std::shared_ptr<void> turn);

}  // namespace zklock::detail
