// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/monitor.h"

#include <cassert>
#include <cstddef>
#include <utility>

namespace zklock::detail {

// path_mutex stands for mutex_.
Monitor::Lock::Lock(Monitor& monitor) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS : monitor_(monitor) {
  monitor_.mutex_.lock();
}

Monitor::Lock::~Lock() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  monitor_.run_before_unlock();
  // Destroyed last, without the mutex: they may own the last references.
  const auto done = std::exchange(monitor_.finished_tasks_, {});
  const bool flushes = std::exchange(monitor_.has_deferred_, false);
  auto tasks = monitor_.after_unlock_.take();
  if (!flushes && tasks.empty()) {
    monitor_.mutex_.unlock();
    return;
  }
  const auto alive = monitor_.shared_from_this();  // other references may end after unlock()
  monitor_.mutex_.unlock();
  if (flushes) alive->flush_soon();
  UnlockTasks::run(alive.get(), std::move(tasks),
                   [&](const char* why) { alive->core_->warn(alive->name_ + ": " + why); });
}

void Monitor::defer(Task task) {
  assert(!is_flushing_);
  deferred_.push_back(std::move(task));
  has_deferred_ = true;
}

void Monitor::flush_deferred() {
  assert(!is_flushing_);
  struct Flushing {
    explicit Flushing(bool& set) : flag(set) { flag = true; }
    ~Flushing() { flag = false; }
    Flushing(const Flushing&) = delete;
    Flushing& operator=(const Flushing&) = delete;
    bool& flag;
  };
  const Flushing flushing(is_flushing_);
  finished_tasks_.reserve(finished_tasks_.size() + deferred_.size());  // first: this may throw
  while (!deferred_.empty()) {
    deferred_.back()();
    finished_tasks_.push_back(std::move(deferred_.back()));
    deferred_.pop_back();
  }
}

// A task can put off another one.
void Monitor::run_before_unlock() {
  for (std::size_t i = 0; i < before_unlock_.size(); ++i) {
    Task task = std::move(before_unlock_[i]);
    task();
    finished_tasks_.push_back(std::move(task));
  }
  before_unlock_.clear();
}

void Monitor::flush_soon() {
  core_->coordinator().post([weak = weak_from_this()] {
    const auto monitor = weak.lock();
    if (!monitor) return;
    const Lock lock(*monitor);
    monitor->flush_deferred();
  });
}

}  // namespace zklock::detail
