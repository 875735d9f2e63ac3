// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/answer_thread.h"

#include <utility>

#include "zklock/client/start_thread.h"

namespace zklock::client {

AnswerThread::AnswerThread(std::function<std::optional<Instant>()> overdue)
    : overdue_(std::move(overdue)), thread_(start_thread("zklock-answers", [this] {
        preempt_nobody();
        loop();
      })) {}

AnswerThread::~AnswerThread() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void AnswerThread::post(ReplyHandler handler, Reply reply) {
  if (!handler) return;
  run([handler = std::move(handler), reply = std::move(reply)]() mutable {
    handler(std::move(reply));
  });
}

void AnswerThread::run(std::function<void()> task) {
  {
    const std::lock_guard guard(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void AnswerThread::poke() {
  const std::lock_guard guard(mutex_);
  poked_ = true;
  changed_.notify_all();
}

void AnswerThread::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return tasks_.empty() && !running_; });
}

bool AnswerThread::wait(std::unique_lock<std::mutex>& lock, std::optional<Instant> when) {
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

void AnswerThread::loop() {
  std::unique_lock lock(mutex_);
  std::optional<Instant> when;
  while (wait(lock, when)) {
    while (!tasks_.empty()) {
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      running_ = true;
      lock.unlock();
      task();
      task = nullptr;  // what it holds may end here, and take locks
      lock.lock();
      running_ = false;
    }
    idle_.notify_all();
    lock.unlock();
    when = overdue_();
    lock.lock();
  }
}

}  // namespace zklock::client
