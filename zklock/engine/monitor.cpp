// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/monitor.h"

#include <cassert>
#include <cstddef>

namespace zklock::detail {

// path_mutex stands for mutex_.
Monitor::Lock::Lock(Monitor& monitor) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS : monitor_(monitor) {
  monitor_.mutex_.lock();
  assert((monitor_.assert_invariants_(), true));
}

Monitor::Lock::Lock(Monitor& monitor, std::adopt_lock_t) : monitor_(monitor) {
  assert((monitor_.assert_invariants_(), true));
}

Monitor::Lock::~Lock() ZKLOCK_NO_THREAD_SAFETY_ANALYSIS {
  monitor_.run_before_unlock();
  assert((monitor_.assert_invariants_(), true));
  // Destroyed last, without the mutex: they may own the last references.
  const auto done = std::exchange(monitor_.before_unlock_, {});
  auto tasks = monitor_.after_unlock_.take();
  if (tasks.empty()) {
    monitor_.mutex_.unlock();
    return;
  }
  const auto alive = monitor_.shared_from_this();  // other references may end after unlock()
  monitor_.mutex_.unlock();
  UnlockTasks::run(alive.get(), std::move(tasks),
                   [&](const char* why) { alive->core_->warn(alive->name_ + ": " + why); });
}

// A task can put off another one.
void Monitor::run_before_unlock() {
  for (std::size_t i = 0; i < before_unlock_.size(); ++i) {
    Task task = std::move(before_unlock_[i]);
    task();
    before_unlock_[i] = std::move(task);
  }
}

}  // namespace zklock::detail
