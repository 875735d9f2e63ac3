// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/engine_lock.h"

#include <cassert>
#include <cstddef>
#include <string>
#include <utility>

namespace zklock::detail {

// path_mutex stands for mutex_.
EngineLock::EngineLock(Entry entry) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS : entry_(entry) {
  entry_.core.mutex().mutex_.lock();
  assert((entry_.state.assert_invariants(), true));
}

EngineLock::EngineLock(Entry entry, std::adopt_lock_t) : entry_(entry) {
  assert((entry_.state.assert_invariants(), true));
}

EngineLock::~EngineLock() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  EngineMutex& mutex = entry_.core.mutex();
  mutex.run_before_unlock();
  assert((entry_.state.assert_invariants(), true));
  // Destroyed last, without the mutex: they may own the last references.
  const auto done = std::exchange(mutex.before_unlock_, {});
  auto tasks = mutex.after_unlock_.take();
  if (tasks.empty()) {
    mutex.mutex_.unlock();
    return;
  }
  const auto alive = entry_.core.shared_from_this();  // other references may end after unlock()
  mutex.mutex_.unlock();
  UnlockTasks::run(alive.get(), std::move(tasks), [&](const char* why) {
    alive->warn("zklock: a deferred task of a lock has failed: " + std::string(why));
  });
}

// A task can defer another one.
void EngineMutex::run_before_unlock() {
  for (std::size_t i = 0; i < before_unlock_.size(); ++i) {
    Task task = std::move(before_unlock_[i]);
    task();
    before_unlock_[i] = std::move(task);
  }
}

}  // namespace zklock::detail
