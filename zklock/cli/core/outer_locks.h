// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zklock::cli {

/// Returns the value of ZKLOCK_HELD for a command below a lock. This variable has one line for each
/// lock that an ancestor of a process holds. So a command that would wait for its own ancestor is
/// refused.
/// `held`: the present value. `pid`: the process that acquires the lock. The order of the servers
/// in `hosts` does not matter.
/// Throws: Failure with ExitCode::kData if `held` has the lock already.
[[nodiscard]] std::string held_with(const std::string& held, int pid, const std::string& hosts,
                                    const std::string& path);

}  // namespace zklock::cli
