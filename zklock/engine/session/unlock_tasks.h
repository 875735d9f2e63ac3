// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include <boost/container/small_vector.hpp>

namespace zklock::detail {

/// The tasks that code under a mutex defers until it has unlocked the mutex. They call other objects,
/// but no code of the user, and do not block.
///
/// Thread-safety: the mutex guards all members but run().
class UnlockTasks {
 public:
  using Task = std::function<void()>;

  /// Most often there is one task.
  using Tasks = boost::container::small_vector<Task, 1>;

  void add(Task task) { tasks_.push_back(std::move(task)); }
  bool is_empty() const noexcept { return tasks_.empty(); }
  /// Removes the tasks and returns them, for run().
  [[nodiscard]] Tasks take() noexcept { return std::exchange(tasks_, {}); }

  /// Runs `tasks` of `owner` in order, on this thread. If this thread is in a task of that owner
  /// already, the outer call runs them, after its own. That bounds the depth of the stack. No
  /// exception may leave a task. REQUIRES: the mutex is unlocked, and the caller retains `owner`.
  static void run(const void* owner, Tasks tasks) noexcept;

 private:
  struct Running;

  Tasks tasks_;
};

}  // namespace zklock::detail
