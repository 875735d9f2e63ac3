// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace zklock::testing {

// An executor with one thread.
class SingleThread {
 public:
  SingleThread() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void operator()(std::function<void()> task) {
    {
      const std::lock_guard guard(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  std::jthread thread_;                      // last: it uses the other members
};

}  // namespace zklock::testing
