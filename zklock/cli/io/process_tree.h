// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <sys/types.h>

namespace zklock::cli {

/// The result of signal_descendants().
struct Descendants {
  int count = 0;               ///< number of processes that were signalled
  std::vector<pid_t> refused;  ///< processes of other users
};

/// Throws Failure if /proc does not show this process and its children. That is so in a new pid
/// namespace without a /proc of its own, and on kernels without CONFIG_PROC_CHILDREN. There
/// signal_descendants() would find no process, or wrong ones.
void check_process_tree();

/// Returns the children of all threads of a process.
std::vector<pid_t> children_of(pid_t pid);

/// Sends `signal` to all descendants of `root`, ancestors first, but not to `skipped` and their
/// descendants. Reads /proc/PID/task/TID/children of each thread. A process that was created
/// meanwhile can be missed: call it until none is left. REQUIRES: check_process_tree() has returned.
Descendants signal_descendants(pid_t root, int signal, std::span<const pid_t> skipped = {});

}  // namespace zklock::cli
