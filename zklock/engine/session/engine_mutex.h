// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <utility>

#include "zklock/client/port/may_block.h"
#include "zklock/client/port/mutex.h"
#include "zklock/core/thread_annotations.h"
#include "zklock/engine/session/unlock_tasks.h"

namespace zklock::detail {

/// The engine mutex: the mutex of one client, and the tasks that are deferred until it is unlocked.
/// It guards all state of the client's engine, and that of its elections, observers and release
/// requests. Locked by an EngineLock, which any thread may make. "The engine mutex is held" means:
/// the calling thread has an EngineLock of the object's client.
///
/// Clang's analysis cannot know which objects belong to one client, so members that require the
/// mutex are not annotated. assert_held() checks the requirement at the entrances of the classes.
///
/// Thread-safety: none. REQUIRES for after_unlock(): the mutex is held.
class EngineMutex {
 public:
  using Task = UnlockTasks::Task;

  EngineMutex() noexcept { mutex_.spin_before_sleep(); }  // entries are short
  EngineMutex(const EngineMutex&) = delete;
  EngineMutex& operator=(const EngineMutex&) = delete;

  /// Defers `task` until the EngineLock has ended. It runs on the same thread, without the mutex,
  /// in the order of the calls. If the EngineLock was made within such a task, the outermost
  /// EngineLock runs it, after its own tasks.
  void after_unlock(Task task) {
    assert_held();
    mutex_.assert_held();  // for Clang's analysis
    after_unlock_.add(std::move(task));
  }
  /// Asserts that the engine mutex is held.
  void assert_held() const noexcept { assert(client::engine_mutex_held_here == this); }

 private:
  friend class EngineLock;

  client::Mutex mutex_;
  UnlockTasks after_unlock_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::detail
