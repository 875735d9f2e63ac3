// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/answer_thread.h"

#include <utility>

#include "zklock/client/start_thread.h"

namespace zklock::client {

AnswerThread::AnswerThread(std::function<std::optional<Instant>()> overdue)
    : overdue_(std::move(overdue)), thread_(start_thread("zklock-answers", [this] { run(); })) {}

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
  const std::lock_guard guard(mutex_);
  answers_.push_back({std::move(handler), std::move(reply)});
  changed_.notify_all();
}

void AnswerThread::poke() {
  const std::lock_guard guard(mutex_);
  poked_ = true;
  changed_.notify_all();
}

void AnswerThread::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return answers_.empty() && !running_; });
}

bool AnswerThread::wait(std::unique_lock<std::mutex>& lock, std::optional<Instant> when) {
  const auto awaited = [this] { return stopping_ || poked_ || !answers_.empty(); };
  if (when) {
    // The condition variable knows no boot time: after a sleep of the machine it is asked late.
    changed_.wait_for(lock, *when - LeaseClock::now(), awaited);
  } else {
    changed_.wait(lock, awaited);
  }
  poked_ = false;
  return !stopping_ || !answers_.empty();
}

void AnswerThread::run() {
  std::unique_lock lock(mutex_);
  std::optional<Instant> when;
  while (wait(lock, when)) {
    while (!answers_.empty()) {
      Answer answer = std::move(answers_.front());
      answers_.pop_front();
      running_ = true;
      lock.unlock();
      answer.handler(std::move(answer.reply));
      answer.handler = nullptr;  // what it holds may end here, and take locks
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
