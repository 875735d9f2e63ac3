// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "zklock/client.h"
#include "zklock/client/port/dispatcher.h"
#include "zklock/client/port/mutex.h"
#include "zklock/engine/callback/event_delivery.h"
#include "zklock/engine/session/process.h"

namespace zklock::detail {

/// Delivers events to listeners of the user: to each in order, one call at a time.
///
/// Thread-safety: all members, from any thread.
template <class Event, Delivery delivery = Delivery::every>
class Listeners {
 public:
  using Listener = SerialListener<Event, delivery>;

  explicit Listeners(std::shared_ptr<client::Dispatcher> dispatcher)
      : dispatcher_(std::move(dispatcher)), list_(std::make_shared<List>()) {}

  /// Adds a listener. If `first` is set, it is the first event that the listener receives.
  Subscription add(typename Listener::Call listener,
                   const std::optional<Event>& first = std::nullopt) {
    auto added = std::make_shared<Listener>(std::move(listener), dispatcher_);
    {
      const client::MutexLock guard(list_->mutex);
      if (first) added->notify(*first);
      list_->listeners.push_back(added);
    }
    return Subscription([list = list_, added, fork_guard = ForkGuard()] {
      if (fork_guard.forked()) {
        keep_for_ever(list);
        keep_for_ever(added);
        return;
      }
      {
        const client::MutexLock guard(list->mutex);
        std::erase(list->listeners, added);
      }
      added->remove();
    });
  }

  /// Queues an event for every listener.
  void notify(const Event& event) {
    // Under the mutex, so that all listeners receive the events in one order.
    const client::MutexLock guard(list_->mutex);
    for (const auto& listener : list_->listeners) listener->notify(event);
  }
  bool is_empty() const {
    const client::MutexLock guard(list_->mutex);
    return list_->listeners.empty();
  }

  /// Calls SerialListener::stop() for each listener.
  void stop(typename Listener::Keep keep = nullptr) {
    for (const auto& listener : copy()) listener->stop(keep);
  }
  /// Blocks until no call is running. On a thread that runs one of the calls, returns at once.
  void wait() {
    const auto listeners = copy();
    if (std::ranges::any_of(listeners, [](const auto& l) { return l->runs_here(); })) return;
    for (const auto& listener : listeners) listener->wait();
  }
  /// Calls SerialListener::finish() for each listener, then removes all. On a thread that runs a
  /// call of a listener, calls stop() for each instead, so it does not wait. `failed` is
  /// called in the catch block of an exception from a listener.
  template <class Failed>
  void finish(Failed failed) {
    const auto listeners = copy();
    const bool within =
        std::ranges::any_of(listeners, [](const auto& l) { return l->runs_here(); });
    for (const auto& listener : listeners) {
      if (within) {
        listener->stop();
        continue;
      }
      try {
        listener->finish();
      } catch (...) {
        failed();
      }
    }
    forget();
  }
  /// Removes all listeners. Queued events are still delivered.
  void forget() {
    std::vector<std::shared_ptr<Listener>> forgotten;  // destroyed after the lock
    const client::MutexLock guard(list_->mutex);
    list_->listeners.swap(forgotten);
  }

 private:
  struct List {
    client::Mutex mutex;
    std::vector<std::shared_ptr<Listener>> listeners ZKLOCK_GUARDED_BY(mutex);
  };
  std::vector<std::shared_ptr<Listener>> copy() const {
    const client::MutexLock guard(list_->mutex);
    return list_->listeners;
  }

  std::shared_ptr<client::Dispatcher> dispatcher_;
  std::shared_ptr<List> list_;
};

}  // namespace zklock::detail
