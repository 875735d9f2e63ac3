// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <sys/types.h>

namespace zklock::cli {

/// The result of signal_descendants().
struct Descendants {
  int count = 0;               ///< number of processes found
  std::vector<pid_t> refused;  ///< processes of other users
};

/// Sends `signal` to all descendants of `root`, ancestors first. Does not send it to `skipped`, but
/// to the descendants of `skipped`. Reads /proc/PID/task/TID/children of each thread. A process that
/// was created meanwhile can be missed: call it until none is left. Without that file of /proc, the
/// function finds none.
Descendants signal_descendants(pid_t root, int signal, pid_t skipped = 0);

}  // namespace zklock::cli
