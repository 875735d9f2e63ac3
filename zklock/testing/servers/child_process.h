// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include <sys/types.h>

#include "zklock/testing/servers/process_spawner.h"

namespace zklock::testing {

struct ExitStatus {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;      // 0: ended by exit

  // Returns whether other code has reaped the child, for example because SIGCHLD is ignored.
  bool is_unknown() const noexcept { return exit_code == -1 && signal == 0; }
};

// A running child of this process. The destructor kills and reaps it. If this process dies first,
// the kernel kills the child (see spawn_process). All members may be called from any thread.
class ChildProcess {
 public:
  // Throws std::system_error if the program cannot be started.
  explicit ChildProcess(const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const noexcept { return pid_; }

  // Sends SIGSTOP. Blocks until all threads of the process are stopped, or until it has ended.
  void pause();
  // Sends SIGCONT.
  void resume();
  // Sends SIGKILL. Blocks until the process is reaped.
  void kill();
  // Sends SIGTERM and does not wait. A paused process receives the signal only after resume().
  void terminate();

  bool running();
  bool paused();

  // Blocks until the process ends. Returns nullopt if it still runs after `timeout`.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout);

 private:
  // Returns whether the process has ended. REQUIRES: mutex_ is held.
  bool reap();
  // Sends a signal only while the process is not reaped. Until then no other process can have its
  // pid.
  void send(int signal_number);
  bool stopped_or_ended();

  const pid_t owner_;
  const pid_t pid_;
  std::mutex mutex_;
  std::optional<ExitStatus> status_;  // guarded by mutex_
  bool paused_ = false;               // guarded by mutex_
};

}  // namespace zklock::testing
