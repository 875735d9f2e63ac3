// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/local_reply_thread.h"

#include <cassert>
#include <deque>
#include <utility>

#include "zklock/client/port/boot_time.h"
#include "zklock/client/port/mutex.h"
#include "zklock/client/threads/start_thread.h"

namespace zklock::client {

class LocalReplyThread::Queue {
 public:
  explicit Queue(std::function<std::optional<Instant>()> answer_overdue)
      : answer_overdue_(std::move(answer_overdue)) {}

  void post(std::function<void()> task);
  void poke();
  void wait_idle();
  /// Runs the queued tasks. REQUIRES: the calling thread runs a task.
  void run_rest();
  /// Makes the thread end when the queue is empty.
  void end();
  /// The body of the thread.
  void work();

 private:
  void run_queued() ZKLOCK_REQUIRES(mutex_);
  // Blocks until there is work, or until `when`. Returns false if the thread is to end. Sets
  // `is_due` if `answer_overdue` must be called.
  bool wait(std::optional<Instant> when, bool& is_due) ZKLOCK_REQUIRES(mutex_);

  const std::function<std::optional<Instant>()> answer_overdue_;

  Mutex mutex_;
  Condition changed_;
  Condition idle_;
  std::deque<std::function<void()>> tasks_ ZKLOCK_GUARDED_BY(mutex_);
  bool running_ ZKLOCK_GUARDED_BY(mutex_) = false;  // a task or `answer_overdue` is running
  bool poked_ ZKLOCK_GUARDED_BY(mutex_) = false;
  bool stopping_ ZKLOCK_GUARDED_BY(mutex_) = false;
};

void LocalReplyThread::Queue::post(std::function<void()> task) {
  {
    const MutexLock guard(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void LocalReplyThread::Queue::poke() {
  const MutexLock guard(mutex_);
  poked_ = true;
  changed_.notify_all();
}

void LocalReplyThread::Queue::wait_idle() {
  const MutexLock guard(mutex_);
  while (!tasks_.empty() || running_) idle_.wait(mutex_);
}

void LocalReplyThread::Queue::run_rest() {
  const MutexLock guard(mutex_);
  run_queued();
}

void LocalReplyThread::Queue::end() {
  const MutexLock guard(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

bool LocalReplyThread::Queue::wait(std::optional<Instant> when, bool& is_due) {
  while (true) {
    const Instant now = when ? boot_time() : Instant{};
    is_due = poked_ || (when && now >= *when);
    if (stopping_ || is_due || !tasks_.empty()) break;
    if (!when) {
      changed_.wait(mutex_);
      continue;
    }
    // The condition variable has no clock like CLOCK_BOOTTIME, so `answer_overdue` is called late
    // after a suspend of the machine.
    changed_.wait_for(mutex_, *when - now);
  }
  poked_ = false;
  return !stopping_ || !tasks_.empty();
}

void LocalReplyThread::Queue::run_queued() {
  assert(running_);
  while (!tasks_.empty()) {
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    const MutexUnlock released(mutex_);
    task();
    task = nullptr;  // destroys its captures unlocked: they may acquire locks
  }
}

void LocalReplyThread::Queue::work() {
  MutexLock lock(mutex_);
  std::optional<Instant> when;
  bool is_due = true;
  while (wait(when, is_due)) {
    running_ = true;
    run_queued();
    // After end(), a task may have destroyed the owner of `answer_overdue`.
    if (is_due && !stopping_) {
      lock.unlock();
      when = answer_overdue_();
      lock.lock();
    }
    running_ = false;
    idle_.notify_all();
  }
}

LocalReplyThread::LocalReplyThread(std::function<std::optional<Instant>()> answer_overdue)
    : queue_(std::make_shared<Queue>(std::move(answer_overdue))),
      thread_(start_thread("zklock-replies", [queue = queue_] {
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
  post([answer] { answer->handler(std::move(answer->reply)); });
}

void LocalReplyThread::post(std::function<void()> task) {
  queue_->post(std::move(task));
}

void LocalReplyThread::poke() {
  queue_->poke();
}

void LocalReplyThread::wait_idle() {
  runs_here() ? queue_->run_rest() : queue_->wait_idle();
}

}  // namespace zklock::client
