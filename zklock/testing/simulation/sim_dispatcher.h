// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "zklock/client/port/dispatcher.h"

namespace zklock::model {

/// Stores the tasks of one simulated process. The driver runs them in order of submission.
class SimDispatcher final : public client::Dispatcher {
 public:
  bool post(std::function<void()> task) override {
    tasks_.push_back(std::move(task));
    return true;
  }

  bool empty() const noexcept { return tasks_.empty(); }
  std::size_t size() const noexcept { return tasks_.size(); }
  /// Returns false if there is no task.
  bool run_next() {
    if (tasks_.empty()) return false;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
    return true;
  }

 private:
  std::deque<std::function<void()>> tasks_;
};

}  // namespace zklock::model
