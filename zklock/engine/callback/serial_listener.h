// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "zklock/client/port/dispatcher.h"
#include "zklock/client/port/mutex.h"
#include "zklock/client/threads/serial_executor.h"

namespace zklock::detail {

enum class Telling {
  every,  ///< every event, even if the listener is slow
  /// Only the latest event when the listener is ready, unless it equals the one delivered last.
  newest,
};

/// A listener of the user, with a queue of events (News). Delivers them in order, one call at a
/// time. A function that waits for the end of a running call does not wait on the thread that runs
/// it. An exception that leaves a call is passed to the dispatcher, or thrown by finish().
///
/// Thread-safety: all members, from any thread, also from a call of the listener. REQUIRES: made by
/// std::make_shared.
template <class News, Telling telling = Telling::every>
class SerialListener : public std::enable_shared_from_this<SerialListener<News, telling>> {
 public:
  using Call = std::function<void(const News&)>;
  SerialListener(Call call, std::shared_ptr<client::Dispatcher> dispatcher)
      : call_(std::move(call)), line_(std::move(dispatcher)) {}

  /// Queues an event. Does not block and does not call the listener. Throws std::system_error if
  /// there is no thread; then the event is delivered with the next one, or is lost.
  void tell(News news) {
    bool in_line = false;
    {
      const client::MutexLock guard(mutex_);
      if (silent_) return;
      if constexpr (telling == Telling::newest) news_.clear();
      news_.push_back(std::move(news));
      in_line = std::exchange(has_turn_, true) && telling == Telling::newest;
    }
    if (in_line) return line_.dispatch();  // the queued task delivers it
    try {
      line_.post([self = this->shared_from_this()] { self->tell_next(); });
    } catch (...) {
      const client::MutexLock guard(mutex_);
      has_turn_ = false;
      throw;
    }
  }

  /// Drops the queued events; no call begins any more. If `keep` returns true, the oldest queued
  /// event is retained, and is still delivered. `keep` gets the event that was delivered last, if
  /// any, and the oldest queued event.
  using Keep = bool (*)(const std::optional<News>& told, const News& next);
  void fall_silent(Keep keep = nullptr) {
    std::deque<News> dropped;  // destroyed after the lock
    const client::MutexLock guard(mutex_);
    silent_ = true;
    news_.swap(dropped);
    if (keep == nullptr || dropped.empty() || !keep(told_, dropped.front())) return;
    news_.push_back(std::move(dropped.front()));
    dropped.pop_front();
  }

  bool runs_here() const {
    const client::MutexLock guard(mutex_);
    return running_on_ == std::this_thread::get_id();
  }

  /// Blocks until no call is under way on another thread.
  void wait() {
    const client::MutexLock guard(mutex_);
    wait_for_call();
  }

  /// Delivers the queued events on the calling thread. After fall_silent(), that is only the event
  /// that it retained. Within a call of the listener, drops them instead. Blocks until no call is
  /// under way on another thread. After it returns, no call begins. Throws what the listener
  /// throws.
  void finish() {
    client::MutexLock lock(mutex_);
    silent_ = true;
    for (;;) {
      wait_for_call();
      if (running_on_ != std::thread::id()) news_.clear();
      const std::optional<News> next = begin_call();
      lock.unlock();
      if (!next) return line_.clear();
      call(*next);
      lock.lock();
    }
  }

  /// Drops the queued events. Blocks until no call is under way on another thread. After it
  /// returns, no call begins.
  void remove() {
    fall_silent();
    // The executor may have dropped its task. Then the queued tasks would retain this object.
    line_.clear();
    Call over;  // destroyed last, with no lock held
    const client::MutexLock guard(mutex_);
    wait_for_call();
    if (running_on_ == std::thread::id()) over.swap(call_);
  }

 private:
  void wait_for_call() ZKLOCK_REQUIRES(mutex_) {
    const auto me = std::this_thread::get_id();
    while (running_on_ != std::thread::id() && running_on_ != me) idle_.wait(mutex_);
  }

  /// Returns the event that the calling thread must pass to call(). Returns nothing if no event is
  /// queued. REQUIRES: no call is under way, or no event is queued.
  std::optional<News> begin_call() ZKLOCK_REQUIRES(mutex_) {
    if (news_.empty()) return std::nullopt;
    assert(running_on_ == std::thread::id());
    std::optional<News> news = std::move(news_.front());
    news_.pop_front();
    if constexpr (telling == Telling::newest) {
      if (news == told_) return std::nullopt;
    }
    told_ = news;
    running_on_ = std::this_thread::get_id();
    return news;
  }

  void call(const News& news) ZKLOCK_EXCLUDES(mutex_) {
    struct Ended {
      SerialListener& listener;
      ~Ended() {
        const client::MutexLock guard(listener.mutex_);
        listener.running_on_ = {};
        listener.idle_.notify_all();
      }
    } const ended{*this};
    if (call_) call_(news);
  }

  void tell_next() ZKLOCK_EXCLUDES(mutex_) {
    std::optional<News> next;
    {
      const client::MutexLock guard(mutex_);
      has_turn_ = false;
      if (running_on_ != std::thread::id()) return;  // finish() delivers the rest
      next = begin_call();
    }
    if (next) call(*next);
  }

  Call call_;  ///< constant until remove()
  client::SerialExecutor line_;

  mutable client::Mutex mutex_;
  client::Condition idle_;
  std::deque<News> news_ ZKLOCK_GUARDED_BY(mutex_);
  bool has_turn_ ZKLOCK_GUARDED_BY(mutex_) = false;     ///< a task for the latest event is queued
  std::optional<News> told_ ZKLOCK_GUARDED_BY(mutex_);  ///< event delivered last
  std::thread::id running_on_ ZKLOCK_GUARDED_BY(mutex_);
  bool silent_ ZKLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace zklock::detail
