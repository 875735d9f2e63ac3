// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/serial_executor.h"

#include <deque>
#include <utility>

#include "zklock/client/port/mutex.h"

namespace zklock::client {

class SerialExecutor::Line : public std::enable_shared_from_this<Line> {
 public:
  explicit Line(std::shared_ptr<Dispatcher> dispatcher) : dispatcher_(std::move(dispatcher)) {}

  void add(std::function<void()> task) {
    {
      const MutexLock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    urge();
  }

  void urge() {
    {
      const MutexLock lock(mutex_);
      if (tasks_.empty() || std::exchange(busy_, true)) return;
    }
    dispatch();
  }

  void clear() noexcept {
    std::deque<std::function<void()>> dropped;  // destroyed unlocked
    const MutexLock lock(mutex_);
    tasks_.swap(dropped);
  }

 private:
  /// The right to run one task, passed to the dispatcher, which runs or drops it.
  struct Turn {
    explicit Turn(std::shared_ptr<Line> whose) : line(std::move(whose)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (line) line->stand_idle();
    }
    void run() {
      if (const auto mine = std::exchange(line, nullptr)) mine->run_one();
    }

    std::shared_ptr<Line> line;  ///< null after run()
  };

  void dispatch() {
    std::shared_ptr<Turn> turn;
    try {
      turn = std::make_shared<Turn>(shared_from_this());
    } catch (...) {
      stand_idle();
      throw;
    }
    dispatcher_->post([turn = std::move(turn)] { turn->run(); });
  }

  void run_one() {
    // Also runs if the task throws; the exception continues to the dispatcher.
    struct Next {
      Line& line;
      ~Next() {
        if (!line.has_more()) return;
        try {
          line.dispatch();
        } catch (...) {  // no thread or no memory: the next post() tries again
        }
      }
    } const next{*this};
    if (const auto task = take()) task();
  }

  /// Marks the dispatcher as idle. Queued tasks wait until the next post() or urge() dispatches
  /// again.
  void stand_idle() {
    const MutexLock lock(mutex_);
    busy_ = false;
  }

  std::function<void()> take() {
    const MutexLock lock(mutex_);
    if (tasks_.empty()) return {};  // removed by clear()
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  bool has_more() {
    const MutexLock lock(mutex_);
    busy_ = !tasks_.empty();
    return busy_;
  }

  const std::shared_ptr<Dispatcher> dispatcher_;
  Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ZKLOCK_GUARDED_BY(mutex_);
  bool busy_ ZKLOCK_GUARDED_BY(mutex_) = false;  // the dispatcher has a Turn, or runs it
};

SerialExecutor::SerialExecutor(std::shared_ptr<Dispatcher> dispatcher)
    : line_(std::make_shared<Line>(std::move(dispatcher))) {}

void SerialExecutor::post(std::function<void()> task) {
  line_->add(std::move(task));
}

void SerialExecutor::urge() {
  line_->urge();
}

void SerialExecutor::clear() noexcept {
  line_->clear();
}

}  // namespace zklock::client
