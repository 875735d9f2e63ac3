// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include <sys/types.h>

#include "support/process_spawner.h"

namespace zklock::testing {

struct ExitStatus {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;      // 0: exited by itself
};

// A running child of this process. The destructor kills and reaps it; if this process dies first,
// the kernel kills it (see spawn_process). All members may be called from any thread.
class ChildProcess {
 public:
  // Throws std::system_error when the program cannot be started.
  explicit ChildProcess(const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const noexcept { return pid_; }

  // SIGSTOP; returns when the whole process stands still (or has ended).
  void pause();
  // SIGCONT.
  void resume();
  // SIGKILL; returns when the process is gone and reaped.
  void kill();
  // SIGTERM, without waiting. A paused process sees it only once it is resumed.
  void terminate();

  bool running();
  bool paused();

  // Empty when the process still runs after `timeout`.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout);

 private:
  // Returns whether the process has ended. Requires mutex_.
  bool reap();
  // A pid is signalled only while it is not reaped: until then it cannot belong to anybody else.
  void send(int signal_number);
  bool stopped_or_ended();

  const pid_t owner_;
  const pid_t pid_;
  std::mutex mutex_;
  std::optional<ExitStatus> status_;  // guarded by mutex_
  bool paused_ = false;               // guarded by mutex_
};

}  // namespace zklock::testing
