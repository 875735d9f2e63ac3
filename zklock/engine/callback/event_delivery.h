// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "zklock/client/port/dispatcher.h"
#include "zklock/client/port/mutex.h"
#include "zklock/engine/callback/borrowed_executor.h"
#include "zklock/lock_event.h"

namespace zklock::detail {

enum class Delivery {
  every,  ///< every event, even if the listener is slow
  /// Only the newest queued event, and not if it equals the event that was delivered last.
  newest,
};

/// A listener of the user, with a queue of events. Delivers them in order, one call at a time: each
/// task that it posts to the dispatcher delivers one event. If the dispatcher drops the task, the
/// events stay queued until the next notify() or finish(). wait(), finish() and remove() wait for a
/// running call, except on the thread that runs it. An exception that leaves a call is passed to
/// the dispatcher, or thrown by finish().
///
/// Thread-safety: any thread may call any member, even within a call of the listener. REQUIRES:
/// made by std::make_shared.
template <class Event, Delivery delivery = Delivery::every>
class SerialListener : public std::enable_shared_from_this<SerialListener<Event, delivery>> {
 public:
  using Call = std::function<void(const Event&)>;
  SerialListener(Call call, std::shared_ptr<client::Dispatcher> dispatcher)
      : call_(std::move(call)), dispatcher_(std::move(dispatcher)) {}

  /// Queues an event. Does not block and does not call the listener.
  void notify(Event event) {
    // Destroyed after the lock, like every event: it may own objects of the user.
    std::deque<Event> dropped;
    {
      const client::MutexLock guard(mutex_);
      if (stopped_) return;
      if constexpr (delivery == Delivery::newest) events_.swap(dropped);
      events_.push_back(std::move(event));
    }
    dispatch();
  }
  /// Returns whether stop() retains `next`, the oldest queued event. `delivered`: the event that
  /// was delivered last, if any.
  using Keep = bool (*)(const std::optional<Event>& delivered, const Event& next);
  /// Drops the queued events, and ignores later ones. If `keep` returns true, the oldest queued
  /// event stays queued: the task that was posted for it, or finish(), delivers it.
  void stop(Keep keep = nullptr) {
    std::deque<Event> dropped;  // destroyed after the lock
    const client::MutexLock guard(mutex_);
    stopped_ = true;
    events_.swap(dropped);
    if (keep == nullptr || dropped.empty() || !keep(delivered_, dropped.front())) return;
    events_.push_back(std::move(dropped.front()));
    dropped.pop_front();
  }

  bool runs_here() const {
    const client::MutexLock guard(mutex_);
    return running_on_ == std::this_thread::get_id();
  }

  /// Blocks until no call is running on another thread.
  void wait() {
    const client::MutexLock guard(mutex_);
    wait_for_call();
  }

  /// Delivers the queued events on the calling thread; after stop(), only the one that it retained.
  /// Within a call of the listener, drops them instead. Blocks until no call is running on another
  /// thread. After it returns, no call begins. Throws what the listener throws.
  void finish() {
    client::MutexLock lock(mutex_);
    stopped_ = true;
    for (;;) {
      wait_for_call();
      std::deque<Event> dropped;
      if (running_on_ != std::thread::id()) events_.swap(dropped);
      std::optional<Event> before;
      const std::optional<Event> next = begin_call(before);
      lock.unlock();
      if (!next) return;
      call(*next);
      lock.lock();
    }
  }

  /// Drops the queued events. Blocks until no call is running on another thread. After it returns,
  /// no call begins.
  void remove() {
    stop();
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

  /// Returns the event that the calling thread must pass to call(), or std::nullopt if no event is
  /// queued. With Delivery::newest, drops an event that equals the last one, and returns
  /// std::nullopt. `before` gets the event that the caller must destroy without the mutex.
  /// REQUIRES: no call is running, or no event is queued.
  std::optional<Event> begin_call(std::optional<Event>& before) ZKLOCK_REQUIRES(mutex_) {
    if (events_.empty()) return std::nullopt;
    assert(running_on_ == std::thread::id());
    std::optional<Event> event = std::move(events_.front());
    events_.pop_front();
    bool is_known = false;
    if constexpr (delivery == Delivery::newest) is_known = event == delivered_;
    before = std::exchange(delivered_, event);
    if (is_known) return std::nullopt;
    running_on_ = std::this_thread::get_id();
    return event;
  }

  void call(const Event& event) ZKLOCK_EXCLUDES(mutex_) {
    assert(client::may_block_here());
    struct Ended {
      SerialListener& listener;
      ~Ended() {
        const client::MutexLock guard(listener.mutex_);
        listener.running_on_ = {};
        listener.idle_.notify_all();
      }
    } const ended{*this};
    if (call_) call_(event);
  }

  /// The right to deliver one event. It is passed to the dispatcher, which uses it or drops it.
  struct Turn {
    explicit Turn(std::shared_ptr<SerialListener> whose) : listener(std::move(whose)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (listener) listener->end_turn();
    }
    void use() {
      if (const auto mine = std::exchange(listener, nullptr)) mine->deliver_next();
    }

    std::shared_ptr<SerialListener> listener;  ///< null after use()
  };

  void dispatch() ZKLOCK_EXCLUDES(mutex_) {
    std::shared_ptr<Turn> turn;
    {
      const client::MutexLock guard(mutex_);
      // If a call runs without a Turn, finish() makes it, and delivers the remaining events.
      const bool runs = running_on_ != std::thread::id();
      if (events_.empty() || has_turn_ || runs) return;
      turn = std::make_shared<Turn>(this->shared_from_this());
      has_turn_ = true;
    }
    dispatcher_->post([turn = std::move(turn)] { turn->use(); });
  }

  void end_turn() ZKLOCK_EXCLUDES(mutex_) {
    const client::MutexLock guard(mutex_);
    has_turn_ = false;
  }

  void deliver_next() ZKLOCK_EXCLUDES(mutex_) {
    // Its destructor runs even if the call throws.
    struct Next {
      SerialListener& listener;
      ~Next() {
        listener.end_turn();
        listener.dispatch();
      }
    } const after{*this};
    std::optional<Event> before;
    std::optional<Event> next;
    {
      const client::MutexLock guard(mutex_);
      if (running_on_ != std::thread::id()) return;  // finish() delivers the rest
      next = begin_call(before);
    }
    if (next) call(*next);
  }

  Call call_;  ///< constant until remove()
  const std::shared_ptr<client::Dispatcher> dispatcher_;

  mutable client::Mutex mutex_;
  client::Condition idle_;
  std::deque<Event> events_ ZKLOCK_GUARDED_BY(mutex_);
  bool has_turn_ ZKLOCK_GUARDED_BY(mutex_) = false;  ///< the dispatcher has a Turn, or uses it
  std::optional<Event> delivered_ ZKLOCK_GUARDED_BY(mutex_);  ///< event delivered last
  std::thread::id running_on_ ZKLOCK_GUARDED_BY(mutex_);
  bool stopped_ ZKLOCK_GUARDED_BY(mutex_) = false;
};

/// The listener of one object, with a queue of its events.
///
/// Thread-safety: all members, from any thread.
class LockEventQueue : public SerialListener<LockEvent> {
 public:
  /// `executor`: the executor that `dispatcher` uses to run the listener; empty if there is none.
  LockEventQueue(Call call, std::shared_ptr<client::Dispatcher> dispatcher,
                 BorrowedExecutor executor = BorrowedExecutor({}))
      : SerialListener(std::move(call), std::move(dispatcher)), executor_(std::move(executor)) {}

  /// Called when the object is destroyed. Calls SerialListener::remove(); after it returns, the
  /// executor is not called either.
  void remove() {
    SerialListener::remove();
    executor_.revoke();
  }

 private:
  const BorrowedExecutor executor_;
};

/// Receiver of a contender's events: the listener of the object that created the contender. Empty
/// if the object has none.
///
/// Thread-safety: a value.
struct LockEventSink {
  LockEventSink() noexcept = default;
  explicit LockEventSink(std::shared_ptr<LockEventQueue> to, std::size_t part = 0) noexcept
      : listener(std::move(to)), part_index(part) {}

  std::shared_ptr<LockEventQueue> listener;
  std::size_t part_index = 0;  ///< LockEvent::part_index

  explicit operator bool() const noexcept { return listener != nullptr; }
  friend bool operator==(const LockEventSink&, const LockEventSink&) = default;
};

}  // namespace zklock::detail
