// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/engine_lock.h"

#include <cassert>
#include <exception>
#include <utility>

namespace zklock::detail {

EngineLock::EngineLock(Entry entry) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS
    : entry_(entry),
      exceptions_(std::uncaught_exceptions()) {
  assert(client::may_block_here());  // it holds no other one
  entry_.core.mutex().mutex_.lock();
  client::engine_mutex_held_here = &entry_.core.mutex();
  if (entry_.state != nullptr) assert((entry_.state->assert_invariants(), true));
}

EngineLock::~EngineLock() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  if (std::uncaught_exceptions() > exceptions_) std::terminate();
  EngineMutex& mutex = entry_.core.mutex();
  if (entry_.state != nullptr) assert((entry_.state->assert_invariants(), true));
  auto tasks = mutex.after_unlock_.take();
  client::engine_mutex_held_here = nullptr;
  if (tasks.empty()) {
    mutex.mutex_.unlock();
    return;
  }
  const auto alive = entry_.core.shared_from_this();  // other references may end after unlock()
  mutex.mutex_.unlock();
  UnlockTasks::run(alive.get(), std::move(tasks));
}

client::Mutex& EngineLock::before_wait() noexcept ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  EngineMutex& mutex = entry_.core.mutex();
  assert(mutex.after_unlock_.is_empty());
  client::engine_mutex_held_here = nullptr;
  return mutex.mutex_;
}

void EngineLock::after_wait() noexcept {
  client::engine_mutex_held_here = &entry_.core.mutex();
}

}  // namespace zklock::detail
