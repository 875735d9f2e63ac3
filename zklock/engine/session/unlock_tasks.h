// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include <boost/container/small_vector.hpp>

#include "zklock/client/port/mutex.h"

namespace zklock::detail {

/// The tasks that code under a mutex puts off until it has unlocked the mutex, because they call
/// other objects or the user.
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

/// Holds the mutex_ of an object. The destructor calls before_unlock(), unlocks the mutex, and then
/// runs the tasks of after_unlock_. REQUIRES: `Object` befriends this class and derives from
/// std::enable_shared_from_this.
template <class Object>
class ZKLOCK_SCOPED_CAPABILITY LockWithTasks {
 public:
  explicit LockWithTasks(Object& object) ZKLOCK_ACQUIRE(object.mutex_)
      : object_(object), lock_(object.mutex_) {}
  ~LockWithTasks() ZKLOCK_RELEASE() {
    object_.before_unlock();
    auto tasks = object_.after_unlock_.take();
    const auto alive = object_.shared_from_this();  // other references may end after unlock()
    lock_.unlock();
    UnlockTasks::run(alive.get(), std::move(tasks));
  }
  LockWithTasks(const LockWithTasks&) = delete;
  LockWithTasks& operator=(const LockWithTasks&) = delete;

 private:
  Object& object_;
  client::MutexLock lock_;
};

}  // namespace zklock::detail
