// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/unlock_tasks.h"

#include <cstddef>

namespace zklock::detail {

/// One call of run() on this thread.
struct UnlockTasks::Running {
  Running(const void* of, Tasks all) : owner(of), tasks(std::move(all)) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { innermost = outer; }

  static Running* of(const void* owner) noexcept {
    Running* found = innermost;
    while (found != nullptr && found->owner != owner) found = found->outer;
    return found;
  }

  static constinit thread_local Running* innermost;

  const void* const owner;
  Tasks tasks;
  Running* const outer = std::exchange(innermost, this);
};

constinit thread_local UnlockTasks::Running* UnlockTasks::Running::innermost = nullptr;

void UnlockTasks::run(const void* owner, Tasks tasks) noexcept {
  if (tasks.empty()) return;
  if (Running* const outer = Running::of(owner)) {
    for (Task& task : tasks) outer->tasks.push_back(std::move(task));
    return;
  }
  Running mine(owner, std::move(tasks));
  for (std::size_t i = 0; i < mine.tasks.size(); ++i) {
    const Task task = std::move(mine.tasks[i]);
    task();
  }
}

}  // namespace zklock::detail
