// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "zklock/client/port/mutex.h"
#include "zklock/core/session.h"
#include "zklock/engine/path_mutex.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/unlock_tasks.h"

namespace zklock::detail {

/// The mutex of one lock path, and the tasks that code under this mutex puts off.
///
/// | put off by      | the task runs                                                        |
/// |-----------------|----------------------------------------------------------------------|
/// | before_unlock() | when the Lock ends, still with the mutex locked                      |
/// | after_unlock()  | when the Lock has ended, with the mutex unlocked, on the same thread |
///
/// If asserts are on, each Lock asserts invariants of what the mutex guards when it begins and when
/// it ends. So transitions are checked at entry and exit. If there are many contenders, only some
/// of them are checked.
///
/// Thread-safety: any thread may make a Lock, or call try_lock_for(). REQUIRES for the other
/// members: the calling thread has a Lock. Made by std::make_shared.
class Monitor : public std::enable_shared_from_this<Monitor> {
 public:
  using Task = UnlockTasks::Task;

  /// `name`: begins the logged warnings about tasks. `assert_invariants`: called with the mutex
  /// locked. REQUIRES: what it uses exists while there is a Lock.
  Monitor(std::shared_ptr<EngineContext> core, std::string name,
          std::function<void()> assert_invariants)
      : core_(std::move(core)),
        name_(std::move(name)),
        assert_invariants_(std::move(assert_invariants)) {}
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Locks the mutex while it exists.
  class ZKLOCK_SCOPED_CAPABILITY Lock {
   public:
    explicit Lock(Monitor& monitor) ZKLOCK_ACQUIRE(path_mutex);
    /// REQUIRES: try_lock_for() has returned true.
    Lock(Monitor& monitor, std::adopt_lock_t) ZKLOCK_ACQUIRE(path_mutex);
    /// Runs the tasks. A task of after_unlock() may throw std::system_error, which is logged. No
    /// other exception may leave a task.
    ~Lock() ZKLOCK_RELEASE();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Monitor& monitor_;
  };

  /// Locks the mutex for a Lock that adopts it. Returns false if it was not free within `longest`.
  bool try_lock_for(core::Duration longest) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
    return mutex_.try_lock_for(longest);
  }

  void before_unlock(Task task) ZKLOCK_REQUIRES(path_mutex) {
    before_unlock_.push_back(std::move(task));
  }
  void after_unlock(Task task) ZKLOCK_REQUIRES(path_mutex) { after_unlock_.add(std::move(task)); }

 private:
  void run_before_unlock() ZKLOCK_REQUIRES(path_mutex);

  const std::shared_ptr<EngineContext> core_;
  const std::string name_;
  const std::function<void()> assert_invariants_;
  client::TimedMutex mutex_;
  std::vector<Task> before_unlock_ ZKLOCK_GUARDED_BY(path_mutex);
  UnlockTasks after_unlock_ ZKLOCK_GUARDED_BY(path_mutex);
};

}  // namespace zklock::detail
