// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/engine_lock.h"

#include <cassert>
#include <cstddef>
#include <exception>
#include <utility>

#include "zklock/engine/session/engine_context.h"

namespace zklock::detail {

// ---- Outbox -------------------------------------------------------------------------------------

/// One call of run() on this thread.
struct Outbox::Running {
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

constinit thread_local Outbox::Running* Outbox::Running::innermost = nullptr;

void Outbox::run(const void* owner, Tasks tasks) noexcept {
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

// ---- EngineLock ---------------------------------------------------------------------------------

EngineLock::EngineLock(Entry entry) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS
    : entry_(entry),
      permitted_exceptions_(std::uncaught_exceptions()) {
  assert(client::may_block_here());  // it holds no other one
  entry_.context.mutex().mutex_.lock();
  client::engine_mutex_held_here = &entry_.context.mutex();
  if (entry_.state != nullptr) assert((entry_.state->assert_invariants(), true));
}

EngineLock::~EngineLock() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  if (std::uncaught_exceptions() > permitted_exceptions_) std::terminate();
  EngineMutex& mutex = entry_.context.mutex();
  if (entry_.state != nullptr) assert((entry_.state->assert_invariants(), true));
  auto tasks = mutex.outbox_.take();
  client::engine_mutex_held_here = nullptr;
  if (tasks.empty()) {
    mutex.mutex_.unlock();
    return;
  }
  const auto alive = entry_.context.shared_from_this();  // other references may end after unlock()
  mutex.mutex_.unlock();
  Outbox::run(alive.get(), std::move(tasks));
}

client::Mutex& EngineLock::before_wait() noexcept ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  EngineMutex& mutex = entry_.context.mutex();
  assert(mutex.outbox_.is_empty());
  client::engine_mutex_held_here = nullptr;
  return mutex.mutex_;
}

void EngineLock::after_wait() noexcept {
  client::engine_mutex_held_here = &entry_.context.mutex();
}

}  // namespace zklock::detail
