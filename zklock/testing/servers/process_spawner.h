// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace zklock::testing {

struct ChildOptions {
  std::vector<std::string> argv;           // argv[0] is searched in PATH unless it has a slash
  std::filesystem::path working_dir;       // empty: the caller's
  std::map<std::string, std::string> env;  // added to the caller's environment, or replacing it
  std::filesystem::path log_file;          // stdout and stderr, appended; empty: /dev/null
};

// Starts a process that the kernel kills with SIGKILL when this process dies for any reason. The
// kernel binds that signal to the life of the *thread* that forked. So one thread does every fork,
// and lives until the process exits; the calling thread may end at any time. The child inherits
// only stdin (/dev/null), stdout and stderr. Throws std::system_error if the program cannot be
// started. Thread-safe. REQUIRES: this process was not itself created by fork without exec.
pid_t spawn_process(const ChildOptions& options);

}  // namespace zklock::testing
