// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/local_reply_thread.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "zklock/client/threads/start_thread.h"

namespace zklock::client {

class LocalReplyThread::Queue {
 public:
  explicit Queue(std::function<std::optional<Instant>()> overdue) : overdue_(std::move(overdue)) {}

  void run(std::function<void()> task);
  void poke();
  void wait_idle();
  /// Runs the queued tasks. REQUIRES: the calling thread runs a task.
  void run_rest();
  /// Makes the thread end when the queue is empty.
  void end();
  /// The body of the thread.
  void work();

 private:
  void run_queued(std::unique_lock<std::mutex>& lock);
  // Blocks until there is work, or until `when`. Returns false if the thread is to end.
  bool wait(std::unique_lock<std::mutex>& lock, std::optional<Instant> when);

  const std::function<std::optional<Instant>()> overdue_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable idle_;
  // Guarded by mutex_:
  std::deque<std::function<void()>> tasks_;
  bool running_ = false;  // a task or `overdue` is running
  bool poked_ = false;
  bool stopping_ = false;
};

void LocalReplyThread::Queue::run(std::function<void()> task) {
  {
    const std::lock_guard guard(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void LocalReplyThread::Queue::poke() {
  const std::lock_guard guard(mutex_);
  poked_ = true;
  changed_.notify_all();
}

void LocalReplyThread::Queue::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return tasks_.empty() && !running_; });
}

void LocalReplyThread::Queue::run_rest() {
  std::unique_lock lock(mutex_);
  run_queued(lock);
}

void LocalReplyThread::Queue::end() {
  const std::lock_guard guard(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

bool LocalReplyThread::Queue::wait(std::unique_lock<std::mutex>& lock,
                                   std::optional<Instant> when) {
  const auto awaited = [this] { return stopping_ || poked_ || !tasks_.empty(); };
  if (when) {
    // The condition variable has no clock like CLOCK_BOOTTIME, so `overdue` is called late after a
    // suspend of the machine.
    changed_.wait_for(lock, *when - LeaseClock::now(), awaited);
  } else {
    changed_.wait(lock, awaited);
  }
  poked_ = false;
  return !stopping_ || !tasks_.empty();
}

void LocalReplyThread::Queue::run_queued(std::unique_lock<std::mutex>& lock) {
  while (!tasks_.empty()) {
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // destroys its captures unlocked: they may acquire locks
    lock.lock();
  }
}

void LocalReplyThread::Queue::work() {
  std::unique_lock lock(mutex_);
  std::optional<Instant> when;
  while (wait(lock, when)) {
    running_ = true;
    run_queued(lock);
    // After end(), a task may have destroyed the owner of `overdue`.
    if (!stopping_) {
      lock.unlock();
      when = overdue_();
      lock.lock();
    }
    running_ = false;
    idle_.notify_all();
  }
}

LocalReplyThread::LocalReplyThread(std::function<std::optional<Instant>()> overdue)
    : queue_(std::make_shared<Queue>(std::move(overdue))),
      thread_(start_thread("zklock-answers", [queue = queue_] {
        use_batch_scheduling();
        queue->work();
      })) {}

LocalReplyThread::~LocalReplyThread() {
  queue_->end();
  if (!runs_here()) {
    thread_.join();
    return;
  }
  queue_->run_rest();  // while the objects that the handlers use still exist
  thread_.detach();    // it ends after the calling task
}

void LocalReplyThread::post(ReplyHandler handler, Reply reply) {
  if (!handler) return;
  struct Answer {
    ReplyHandler handler;
    Reply reply;
  };
  const auto answer = std::make_shared<Answer>(Answer{std::move(handler), std::move(reply)});
  run([answer] { answer->handler(std::move(answer->reply)); });
}

void LocalReplyThread::run(std::function<void()> task) {
  queue_->run(std::move(task));
}

void LocalReplyThread::poke() {
  queue_->poke();
}

void LocalReplyThread::wait_idle() {
  runs_here() ? queue_->run_rest() : queue_->wait_idle();
}

}  // namespace zklock::client
