// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace zklock::testing {

struct ChildOptions {
  std::vector<std::string> argv;      // argv[0] is looked up in PATH unless it contains a slash
  std::filesystem::path working_dir;  // empty: the caller's
  std::map<std::string, std::string> env;  // added to, or replacing, the caller's environment
  std::filesystem::path log_file;          // stdout and stderr, appended; empty: /dev/null
};

// Starts a process that the kernel kills with SIGKILL when this process dies, however it dies.
// That signal is bound to the life of the *thread* that forked, so every fork is done by one thread
// that lives until the process exits; the calling thread may end at any time. The child inherits
// stdin (/dev/null), stdout and stderr only. Throws std::system_error when the program cannot be
// started. Thread-safe. Not usable in a process that was itself forked without exec.
pid_t spawn_process(const ChildOptions& options);

}  // namespace zklock::testing
