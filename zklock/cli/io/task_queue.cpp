// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/task_queue.h"

#include <cstdint>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "zklock/cli/io/system_failure.h"

namespace zklock::cli {

TaskQueue::TaskQueue() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_.get() < 0) throw system_failure("eventfd");
}

void TaskQueue::post(Task task) {
  const std::lock_guard guard(mutex_);
  tasks_.push_back(std::move(task));
  const std::uint64_t one = 1;
  (void)!::write(event_.get(), &one, sizeof one);
}

void TaskQueue::replace(Task task) {
  (void)take();
  post(std::move(task));
}

std::vector<TaskQueue::Task> TaskQueue::take() {
  const std::lock_guard guard(mutex_);
  std::uint64_t count = 0;
  (void)!::read(event_.get(), &count, sizeof count);
  return std::exchange(tasks_, {});
}

}  // namespace zklock::cli
