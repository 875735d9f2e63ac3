// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/local_reply_thread.h"

#include <cassert>
#include <deque>
#include <utility>

#include "zklock/client/port/mutex.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/client/threads/start_thread.h"

namespace zklock::client {

struct LocalReplyThread::State {
  struct Answer {
    ReplyHandler handler;
    Reply reply;
  };

  // Blocks until there is work, or until `when`. Returns false if the thread is to end. Sets
  // `is_due` if `answer_overdue` must be called.
  bool wait(std::optional<Instant> when, bool& is_due) ZKLOCK_REQUIRES(mutex);
  void run_queued() ZKLOCK_REQUIRES(mutex);
  // The body of the thread.
  void work();

  const std::function<std::optional<Instant>()> answer_overdue;

  Mutex mutex = {};
  Condition changed = {};
  Condition became_idle = {};
  std::deque<Answer> queue ZKLOCK_GUARDED_BY(mutex) = {};
  bool is_running ZKLOCK_GUARDED_BY(mutex) = false;  // a handler or `answer_overdue`
  bool is_poked ZKLOCK_GUARDED_BY(mutex) = false;
  bool is_stopping ZKLOCK_GUARDED_BY(mutex) = false;
};

bool LocalReplyThread::State::wait(std::optional<Instant> when, bool& is_due) {
  while (true) {
    const Instant now = when ? boot_time() : Instant{};
    is_due = is_poked || (when && now >= *when);
    if (is_stopping || is_due || !queue.empty()) break;
    if (!when) {
      changed.wait(mutex);
      continue;
    }
    // The condition variable has no clock like CLOCK_BOOTTIME, so `answer_overdue` is called late
    // after a suspend of the machine.
    changed.wait_for(mutex, *when - now);
  }
  is_poked = false;
  return !is_stopping || !queue.empty();
}

void LocalReplyThread::State::run_queued() {
  while (!queue.empty()) {
    Answer answer = std::move(queue.front());
    queue.pop_front();
    const MutexUnlock released(mutex);
    answer.handler(std::move(answer.reply));
    answer.handler = {};  // destroys its captures unlocked: they may acquire locks
  }
}

void LocalReplyThread::State::work() {
  use_batch_scheduling();
  MutexLock lock(mutex);
  std::optional<Instant> when;
  bool is_due = true;
  while (wait(when, is_due)) {
    is_running = true;
    run_queued();
    // After the destructor, a handler may have destroyed the owner of `answer_overdue`.
    if (is_due && !is_stopping) {
      lock.unlock();
      when = answer_overdue();
      lock.lock();
    }
    is_running = false;
    became_idle.notify_all();
  }
}

LocalReplyThread::LocalReplyThread(std::function<std::optional<Instant>()> answer_overdue)
    : state_(new State{.answer_overdue = std::move(answer_overdue)}) {
  thread_.start("zklock-replies", [state = state_] { state->work(); });
}

LocalReplyThread::~LocalReplyThread() {
  {
    const MutexLock guard(state_->mutex);
    state_->is_stopping = true;
    state_->changed.notify_all();
    // While the objects that the handlers use still exist. The thread ends after the calling one.
    if (runs_here()) state_->run_queued();
  }
  thread_.join();
}

void LocalReplyThread::post(ReplyHandler handler, Reply reply) {
  if (!handler) return;
  {
    const MutexLock guard(state_->mutex);
    state_->queue.push_back({std::move(handler), std::move(reply)});
  }
  state_->changed.notify_one();
}

void LocalReplyThread::poke() {
  const MutexLock guard(state_->mutex);
  state_->is_poked = true;
  state_->changed.notify_all();
}

void LocalReplyThread::wait_idle() {
  const MutexLock guard(state_->mutex);
  if (runs_here()) return state_->run_queued();
  while (!state_->queue.empty() || state_->is_running) state_->became_idle.wait(state_->mutex);
}

}  // namespace zklock::client
