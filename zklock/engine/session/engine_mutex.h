// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "zklock/client/port/mutex.h"
#include "zklock/core/session.h"
#include "zklock/core/thread_annotations.h"
#include "zklock/engine/session/unlock_tasks.h"

namespace zklock::detail {

/// Stands for the EngineMutex of a client. "path_mutex is held" means: the calling thread has an
/// EngineLock of the object's client. Clang's thread-safety analysis cannot know which objects belong
/// to one client. So it checks that the mutex of some client is locked.
struct ZKLOCK_CAPABILITY("path mutex") PathMutex {};
inline constexpr PathMutex path_mutex;

/// The mutex of one client, and the tasks that code under this mutex defers. It guards the paths, and
/// all that they consist of. Locked by an EngineLock.
///
/// | deferred by     | the task runs                                                              |
/// |-----------------|----------------------------------------------------------------------------|
/// | before_unlock() | when the EngineLock ends, still with the mutex locked                      |
/// | after_unlock()  | when the EngineLock has ended, with the mutex unlocked, on the same thread |
///
/// Thread-safety: any thread may make an EngineLock, or call try_lock_for(). REQUIRES for the other
/// members: path_mutex is held.
class EngineMutex {
 public:
  using Task = UnlockTasks::Task;

  EngineMutex() = default;
  EngineMutex(const EngineMutex&) = delete;
  EngineMutex& operator=(const EngineMutex&) = delete;

  /// Locks the mutex for an EngineLock that adopts it. Returns false if it was not free within
  /// `longest`.
  bool try_lock_for(core::Duration longest) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
    return mutex_.try_lock_for(longest);
  }

  void before_unlock(Task task) ZKLOCK_REQUIRES(path_mutex) {
    before_unlock_.push_back(std::move(task));
  }
  void after_unlock(Task task) ZKLOCK_REQUIRES(path_mutex) { after_unlock_.add(std::move(task)); }

 private:
  friend class EngineLock;
  void run_before_unlock() ZKLOCK_REQUIRES(path_mutex);

  client::TimedMutex mutex_;
  std::vector<Task> before_unlock_ ZKLOCK_GUARDED_BY(path_mutex);
  UnlockTasks after_unlock_ ZKLOCK_GUARDED_BY(path_mutex);
};

}  // namespace zklock::detail
