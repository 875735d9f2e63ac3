// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/monitor.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <system_error>

namespace zklock::detail {

/// The tasks of one monitor that this thread runs after a Lock.
struct Monitor::Running {
  Running(const Monitor& of, std::vector<Task> all) : monitor(&of), tasks(std::move(all)) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { innermost = outer; }

  static constinit thread_local Running* innermost;

  const Monitor* const monitor;
  std::vector<Task> tasks;
  Running* const outer = std::exchange(innermost, this);
};

constinit thread_local Monitor::Running* Monitor::Running::innermost = nullptr;

Monitor::~Monitor() = default;

// path_mutex stands for mutex_.
Monitor::Lock::Lock(Monitor& monitor) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS : monitor_(monitor) {
  monitor_.mutex_.lock();
}

Monitor::Lock::~Lock() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  monitor_.run_before_unlock();
  const bool flushes = std::exchange(monitor_.has_deferred_, false);
  if (!flushes && monitor_.after_unlock_.empty()) {
    monitor_.mutex_.unlock();
    return;
  }
  auto tasks = std::exchange(monitor_.after_unlock_, {});
  const auto alive = monitor_.shared_from_this();  // other references may end after unlock()
  monitor_.mutex_.unlock();
  if (flushes) alive->flush_soon();
  if (!tasks.empty()) alive->run_after_unlock(std::move(tasks));
}

void Monitor::defer(Task task) {
  deferred_.push_back(std::move(task));
  has_deferred_ = true;
}

void Monitor::flush_deferred() {
  while (!deferred_.empty()) {
    // The copy is destroyed last, without the mutex: it may own the last references.
    after_unlock([task = deferred_.back()] {});  // first: this may throw
    deferred_.back()();
    deferred_.pop_back();
  }
}

// A task can put off another one.
void Monitor::run_before_unlock() {
  for (std::size_t i = 0; i < before_unlock_.size(); ++i) {
    Task task = std::move(before_unlock_[i]);
    task();
    after_unlock(std::move(task));
  }
  before_unlock_.clear();
}

// A task can make another Lock of this monitor. Its tasks go to the outer loop, which bounds the
// depth of the stack.
void Monitor::run_after_unlock(std::vector<Task> tasks) {
  Running* const outer = Running::innermost;
  if (outer != nullptr && outer->monitor == this) {
    std::ranges::move(tasks, std::back_inserter(outer->tasks));
    return;
  }
  Running mine(*this, std::move(tasks));
  for (std::size_t i = 0; i < mine.tasks.size(); ++i) {
    const Task task = std::move(mine.tasks[i]);
    try {
      task();
    } catch (const std::system_error& e) {  // no thread: only this task fails
      core_->warn(name_ + ": " + e.what());
    }
  }
}

void Monitor::flush_soon() {
  core_->coordinator().soon([weak = weak_from_this()] {
    const auto monitor = weak.lock();
    if (!monitor) return;
    const Lock lock(*monitor);
    monitor->flush_deferred();
  });
}

}  // namespace zklock::detail
