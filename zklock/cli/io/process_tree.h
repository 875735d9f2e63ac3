// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <sys/types.h>

namespace zklock::cli {

/// The result of signal_descendants().
struct Descendants {
  std::vector<pid_t> signalled;
  std::vector<pid_t> refused;  ///< processes of other users
  int count() const noexcept { return static_cast<int>(signalled.size()); }
};

/// Throws Failure if /proc does not show this process and its children. That is so in a new pid
/// namespace without a /proc of its own, and on kernels without CONFIG_PROC_CHILDREN. There
/// signal_descendants() would find no process, or wrong ones.
void check_process_tree();

/// Returns the children of all threads of a process.
std::vector<pid_t> children_of(pid_t pid);

/// Sends `signal` to `pid` if that is a descendant of `root`. So a process that has got the number
/// of an ended one is spared. `parent`: the likely parent, which saves time. Returns 0, or errno.
int signal_descendant(pid_t root, pid_t parent, pid_t pid, int signal);

/// Sends `signal` to all descendants of `root`, ancestors first, but not to `skipped` and their
/// descendants. Reads /proc/PID/task/TID/children of each thread. A process that was created
/// meanwhile can be missed: call it until none is left. REQUIRES: check_process_tree() has
/// returned.
Descendants signal_descendants(pid_t root, int signal, std::span<const pid_t> skipped = {});

}  // namespace zklock::cli
