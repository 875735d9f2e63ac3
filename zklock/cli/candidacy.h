// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "zklock/cli/held_lock.h"
#include "zklock/client.h"
#include "zklock/leadership.h"

namespace zklock::cli {

/// Returns a function that stands once for the election at `path`. It retries temporary errors. Its
/// HeldLock is the leadership. After a loss it does not stand again. `on_leading` is called on a
/// thread of the client, before the handler, and does not throw.
/// Throws: Error.
[[nodiscard]] LockFunction make_candidacy(Client& client, const std::string& path,
                                          const std::string& note,
                                          std::function<void(const Leadership&)> on_leading);

}  // namespace zklock::cli
