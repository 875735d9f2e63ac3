// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include <signal.h>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

/// Returns the set of these signals.
sigset_t signal_set(std::initializer_list<int> signals) noexcept;
/// Returns a descriptor that is readable while one of these blocked signals waits. Throws: Failure.
UniqueFd signal_descriptor(const sigset_t& signals);

/// A signal that this process received.
struct ReceivedSignal {
  int number = 0;
  bool from_terminal = false;  ///< by the kernel: Ctrl-C, Ctrl-\, a resize
};

/// Blocks the signals that zklock forwards, and reads them from a descriptor. It changes no
/// disposition. A signal that was ignored at the start stays ignored, so nohup works. SIGPIPE is
/// blocked and not read.
///
/// Thread-safety: none. REQUIRES: constructed before the process has a second thread.
class SignalReader {
 public:
  /// `more`: signals that are also read. Throws: Failure.
  explicit SignalReader(std::initializer_list<int> more = {});

  int fd() const noexcept { return fd_.get(); }
  /// Returns the next signal; std::nullopt if there is none.
  std::optional<ReceivedSignal> next() noexcept;
  /// Returns the mask before the construction: that of the command.
  const sigset_t& old_mask() const noexcept { return old_mask_; }
  /// Returns whether SIGCHLD was ignored before the construction.
  bool ignored_children() const noexcept { return ignored_children_; }

 private:
  sigset_t old_mask_{};
  bool ignored_children_ = false;
  UniqueFd fd_;
};

/// Tasks that other threads leave for the main thread.
///
/// Thread-safety: any thread may call post().
class TaskQueue {
 public:
  using Task = std::function<void()>;

  /// Throws: Failure.
  TaskQueue();
  /// The descriptor is readable while there are tasks.
  int fd() const noexcept { return event_.get(); }
  void post(Task task);
  /// As post(). Drops the tasks that wait, because the new one makes them needless.
  void replace(Task task);
  /// Removes all tasks, and returns them in order.
  std::vector<Task> take();

 private:
  UniqueFd event_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
};

/// Blocks until a descriptor is readable or a time has come. The time is by LeaseClock, so it also
/// comes while the machine sleeps.
///
/// Thread-safety: none.
class Waiter {
 public:
  /// Throws: Failure.
  Waiter();
  /// Returns when one of the descriptors is readable or at its end, or at `until`. Ignores
  /// descriptors below 0. May return earlier.
  void wait(std::initializer_list<int> fds, Instant until);

 private:
  UniqueFd timer_;
};

/// Blocks for `time`, or until a stop is requested.
void pause(std::chrono::milliseconds time, std::stop_token stop);

}  // namespace zklock::cli
