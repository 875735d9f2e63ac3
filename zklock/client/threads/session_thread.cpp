// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/session_thread.h"

#include <utility>

#include "zklock/client/threads/start_thread.h"

namespace zklock::client {

SessionThread::SessionThread(Host& host, Backoff backoff)
    : host_(host), backoff_(std::move(backoff)) {}

SessionThread::~SessionThread() {
  stop();
}

void SessionThread::start() {
  const std::lock_guard thread_guard(thread_mutex_);
  const std::lock_guard guard(mutex_);
  if (stopping_ || thread_.joinable()) return;
  thread_ = start_thread("zklock-session", [this] { run(); });
}

void SessionThread::retire(Next next) {
  const std::lock_guard guard(mutex_);
  retired_ = true;
  next_ = next;
  changed_.notify_all();
}

void SessionThread::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  const std::lock_guard thread_guard(thread_mutex_);
  if (thread_.joinable()) thread_.join();
}

bool SessionThread::wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds pause) {
  return !changed_.wait_for(lock, pause, [this] { return stopping_; });
}

void SessionThread::run() {
  id_ = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const bool open = host_.open();
    lock.lock();
    if (open) {
      changed_.wait(lock, [this] { return stopping_ || retired_; });
      lock.unlock();
      host_.shut();
      lock.lock();
      const Next next = std::exchange(next_, Next::soon);
      if (std::exchange(retired_, false) && next == Next::never) return;
      if (next == Next::soon) backoff_.reset();
    }
    if (!wait(lock, backoff_.next())) return;
  }
}

}  // namespace zklock::client
