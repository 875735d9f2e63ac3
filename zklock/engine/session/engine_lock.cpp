// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/engine_lock.h"

#include <cassert>
#include <utility>

namespace zklock::detail {

// path_mutex stands for mutex_.
EngineLock::EngineLock(Entry entry) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS : entry_(entry) {
  entry_.core.mutex().mutex_.lock();
  assert((entry_.state.assert_invariants(), true));
}

EngineLock::~EngineLock() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  EngineMutex& mutex = entry_.core.mutex();
  assert((entry_.state.assert_invariants(), true));
  auto tasks = mutex.after_unlock_.take();
  if (tasks.empty()) {
    mutex.mutex_.unlock();
    return;
  }
  const auto alive = entry_.core.shared_from_this();  // other references may end after unlock()
  mutex.mutex_.unlock();
  UnlockTasks::run(alive.get(), std::move(tasks));
}

}  // namespace zklock::detail
