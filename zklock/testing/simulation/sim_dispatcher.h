// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "zklock/client/port/dispatcher.h"

namespace zklock::model {

/// Stores the tasks of one simulated process. The driver runs them in order of submission.
class SimDispatcher final : public client::Dispatcher {
 public:
  bool post(std::function<void()> task) override {
    if (threads_left_ == 0U)
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    if (threads_left_) --*threads_left_;
    tasks_.push_back(std::move(task));
    return true;
  }

  /// Sets whether post() throws, as if the system had no thread left.
  void set_exhausted(bool exhausted) noexcept {
    threads_left_ = exhausted ? std::optional<std::size_t>(0) : std::nullopt;
  }
  /// Makes post() throw after that many more tasks.
  void set_exhausted_after(std::size_t tasks) noexcept { threads_left_ = tasks; }

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
  std::optional<std::size_t> threads_left_;  ///< none: unlimited
};

}  // namespace zklock::model
