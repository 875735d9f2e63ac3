// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

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

}  // namespace zklock::cli
