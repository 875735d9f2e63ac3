// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/serial_executor.h"

#include <cassert>
#include <deque>
#include <utility>

#include "zklock/client/port/mutex.h"

namespace zklock::client {

class SerialExecutor::Queue : public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(std::shared_ptr<Dispatcher> dispatcher) : dispatcher_(std::move(dispatcher)) {}

  void add(std::function<void()> task) {
    {
      const MutexLock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    dispatch();
  }

  void dispatch() {
    std::shared_ptr<Run> run;
    {
      const MutexLock lock(mutex_);
      if (tasks_.empty() || busy_) return;
      run = std::make_shared<Run>(shared_from_this());
      busy_ = true;
    }
    dispatcher_->post([run = std::move(run)] { run->run(); });
  }

  void clear() noexcept {
    std::deque<std::function<void()>> dropped;  // destroyed unlocked
    const MutexLock lock(mutex_);
    tasks_.swap(dropped);
  }

 private:
  /// The right to run one task, passed to the dispatcher, which runs or drops it.
  struct Run {
    explicit Run(std::shared_ptr<Queue> whose) : queue(std::move(whose)) {}
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() {
      if (queue) queue->mark_idle();
    }
    void run() {
      if (const auto mine = std::exchange(queue, nullptr)) mine->run_one();
    }

    std::shared_ptr<Queue> queue;  ///< null after run()
  };

  void run_one() {
    // Also runs if the task throws; the exception continues to the dispatcher.
    struct Next {
      Queue& queue;
      ~Next() {
        queue.mark_idle();
        queue.dispatch();
      }
    } const next{*this};
    if (const auto task = take()) task();
  }

  /// Marks the dispatcher as idle. Queued tasks wait until the next post() or dispatch() dispatches
  /// again.
  void mark_idle() {
    const MutexLock lock(mutex_);
    assert(busy_);
    busy_ = false;
  }

  std::function<void()> take() {
    const MutexLock lock(mutex_);
    if (tasks_.empty()) return {};  // removed by clear()
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  const std::shared_ptr<Dispatcher> dispatcher_;
  Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ZKLOCK_GUARDED_BY(mutex_);
  bool busy_ ZKLOCK_GUARDED_BY(mutex_) = false;  // the dispatcher has a Run, or runs it
};

SerialExecutor::SerialExecutor(std::shared_ptr<Dispatcher> dispatcher)
    : queue_(std::make_shared<Queue>(std::move(dispatcher))) {}

void SerialExecutor::post(std::function<void()> task) {
  queue_->add(std::move(task));
}

void SerialExecutor::dispatch() {
  queue_->dispatch();
}

void SerialExecutor::clear() noexcept {
  queue_->clear();
}

}  // namespace zklock::client
