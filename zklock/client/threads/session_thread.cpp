// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/session_thread.h"

#include <cassert>
#include <utility>

#include "zklock/client/threads/start_thread.h"

namespace zklock::client {

SessionThread::SessionThread(HandleOwner& owner, Backoff backoff)
    : owner_(owner), backoff_(std::move(backoff)) {}

SessionThread::~SessionThread() {
  stop();
}

void SessionThread::start() {
  const MutexLock thread_guard(thread_mutex_);
  const MutexLock guard(mutex_);
  if (stopping_ || thread_.joinable()) return;
  thread_ = start_thread("zklock-session", [this] { run(); });
}

void SessionThread::retire(Next next) {
  const MutexLock guard(mutex_);
  retired_ = true;
  next_ = next;
  changed_.notify_all();
}

void SessionThread::stop() {
  {
    const MutexLock guard(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  const MutexLock thread_guard(thread_mutex_);
  if (thread_.joinable()) thread_.join();
}

bool SessionThread::wait(std::chrono::milliseconds pause) {
  return !changed_.wait_until(mutex_, std::chrono::steady_clock::now() + pause,
                              [this]() ZKLOCK_REQUIRES(mutex_) { return stopping_; });
}

void SessionThread::run() {
  id_ = std::this_thread::get_id();
  MutexLock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const bool open = owner_.open();
    lock.lock();
    assert(open || !retired_);
    if (open) {
      while (!stopping_ && !retired_) changed_.wait(mutex_);
      lock.unlock();
      owner_.shut();
      lock.lock();
      const Next next = std::exchange(next_, Next::soon);
      if (std::exchange(retired_, false) && next == Next::never) return;
      if (next == Next::soon) backoff_.reset();
    }
    if (!wait(backoff_.next())) return;
  }
}

}  // namespace zklock::client
