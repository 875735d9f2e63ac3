// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "zklock/client/port/mutex.h"
#include "zklock/core/thread_annotations.h"
#include "zklock/engine/session/unlock_tasks.h"

namespace zklock::detail {

/// Stands for the EngineMutex of a client. "path_mutex is held" means: the calling thread has an
/// EngineLock of the object's client. Clang's thread-safety analysis cannot know which objects belong
/// to one client. So it checks that the mutex of some client is locked.
struct ZKLOCK_CAPABILITY("path mutex") PathMutex {};
inline constexpr PathMutex path_mutex;

/// The mutex of one client, and the tasks that code under this mutex defers. It guards the paths, and
/// all that they consist of. Locked by an EngineLock, which any thread may make.
///
/// Thread-safety: none. REQUIRES: path_mutex is held.
class EngineMutex {
 public:
  using Task = UnlockTasks::Task;

  EngineMutex() noexcept { mutex_.spin_before_sleep(); }  // entries are short
  EngineMutex(const EngineMutex&) = delete;
  EngineMutex& operator=(const EngineMutex&) = delete;

  /// Defers `task` until the EngineLock has ended. It runs on the same thread, without the mutex, in
  /// the order of the calls.
  void after_unlock(Task task) ZKLOCK_REQUIRES(path_mutex) { after_unlock_.add(std::move(task)); }

 private:
  friend class EngineLock;

  client::Mutex mutex_;
  UnlockTasks after_unlock_ ZKLOCK_GUARDED_BY(path_mutex);
};

}  // namespace zklock::detail
