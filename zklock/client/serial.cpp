// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/serial.h"

#include <deque>
#include <mutex>
#include <utility>

namespace zklock::client {

class Serial::Line : public std::enable_shared_from_this<Line> {
 public:
  explicit Line(std::shared_ptr<Dispatcher> dispatcher) : dispatcher_(std::move(dispatcher)) {}

  void add(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    urge();
  }

  void urge() {
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty() || std::exchange(busy_, true)) return;
    }
    try {
      dispatch();
    } catch (...) {
      stand_idle();
      throw;
    }
  }

 private:
  void dispatch() {
    dispatcher_->post([line = shared_from_this()] { line->run_one(); });
  }

  void run_one() {
    // Also after an exception, which goes on to the dispatcher.
    struct Next {
      Line& line;
      ~Next() {
        if (!line.has_more()) return;
        try {
          line.dispatch();
        } catch (...) {  // no thread, no memory
          line.stand_idle();
        }
      }
    } const next{*this};
    take()();
  }

  /// What is in line waits for the next task, which tries again.
  void stand_idle() {
    const std::lock_guard lock(mutex_);
    busy_ = false;
  }

  std::function<void()> take() {
    const std::lock_guard lock(mutex_);
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  bool has_more() {
    const std::lock_guard lock(mutex_);
    busy_ = !tasks_.empty();
    return busy_;
  }

  const std::shared_ptr<Dispatcher> dispatcher_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false;  // the dispatcher has run_one(), or runs it
};

Serial::Serial(std::shared_ptr<Dispatcher> dispatcher)
    : line_(std::make_shared<Line>(std::move(dispatcher))) {}

void Serial::post(std::function<void()> task) {
  line_->add(std::move(task));
}

void Serial::urge() {
  line_->urge();
}

}  // namespace zklock::client
