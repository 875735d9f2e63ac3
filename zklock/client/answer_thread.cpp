// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/answer_thread.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "zklock/client/start_thread.h"

namespace zklock::client {

class AnswerThread::Line {
 public:
  explicit Line(std::function<std::optional<Instant>()> overdue) : overdue_(std::move(overdue)) {}

  void run(std::function<void()> task);
  void poke();
  void wait_idle();
  /// Within a task: runs those behind it.
  void run_rest();
  /// The thread is to end, when nothing is left.
  void end();
  /// What the thread does.
  void work();

 private:
  void hand_out(std::unique_lock<std::mutex>& lock);
  // Waits for something to do, at the longest until `when`; false: to end.
  bool wait(std::unique_lock<std::mutex>& lock, std::optional<Instant> when);

  const std::function<std::optional<Instant>()> overdue_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable idle_;
  // Guarded by mutex_:
  std::deque<std::function<void()>> tasks_;
  bool running_ = false;  // a task, or `overdue`
  bool poked_ = false;
  bool stopping_ = false;
};

void AnswerThread::Line::run(std::function<void()> task) {
  {
    const std::lock_guard guard(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void AnswerThread::Line::poke() {
  const std::lock_guard guard(mutex_);
  poked_ = true;
  changed_.notify_all();
}

void AnswerThread::Line::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return tasks_.empty() && !running_; });
}

void AnswerThread::Line::run_rest() {
  std::unique_lock lock(mutex_);
  hand_out(lock);
}

void AnswerThread::Line::end() {
  const std::lock_guard guard(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

bool AnswerThread::Line::wait(std::unique_lock<std::mutex>& lock, std::optional<Instant> when) {
  const auto awaited = [this] { return stopping_ || poked_ || !tasks_.empty(); };
  if (when) {
    // The condition variable knows no boot time: after a sleep of the machine it is asked late.
    changed_.wait_for(lock, *when - LeaseClock::now(), awaited);
  } else {
    changed_.wait(lock, awaited);
  }
  poked_ = false;
  return !stopping_ || !tasks_.empty();
}

void AnswerThread::Line::hand_out(std::unique_lock<std::mutex>& lock) {
  while (!tasks_.empty()) {
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds may end here, and take locks
    lock.lock();
  }
}

void AnswerThread::Line::work() {
  std::unique_lock lock(mutex_);
  std::optional<Instant> when;
  while (wait(lock, when)) {
    running_ = true;
    hand_out(lock);
    // Once it is stopping, the owner of `overdue` may have been destroyed by a task.
    if (!stopping_) {
      lock.unlock();
      when = overdue_();
      lock.lock();
    }
    running_ = false;
    idle_.notify_all();
  }
}

AnswerThread::AnswerThread(std::function<std::optional<Instant>()> overdue)
    : line_(std::make_shared<Line>(std::move(overdue))),
      thread_(start_thread("zklock-answers", [line = line_] {
        preempt_nobody();
        line->work();
      })) {}

AnswerThread::~AnswerThread() {
  line_->end();
  if (!runs_here()) {
    thread_.join();
    return;
  }
  line_->run_rest();  // while there still is what the handlers may refer to
  thread_.detach();   // it ends with the task that is here
}

void AnswerThread::post(ReplyHandler&& handler, Reply&& reply) {
  if (!handler) return;
  struct Answer {
    ReplyHandler handler;
    Reply reply;
  };
  const auto answer = std::make_shared<Answer>();
  *answer = {std::move(handler), std::move(reply)};
  try {
    run([answer] { answer->handler(std::move(answer->reply)); });
  } catch (...) {
    handler = std::move(answer->handler);
    reply = std::move(answer->reply);
    throw;
  }
}

void AnswerThread::run(std::function<void()> task) {
  line_->run(std::move(task));
}

void AnswerThread::poke() {
  line_->poke();
}

void AnswerThread::wait_idle() {
  runs_here() ? line_->run_rest() : line_->wait_idle();
}

}  // namespace zklock::client
