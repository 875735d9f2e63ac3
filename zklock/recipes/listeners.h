// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "zklock/client.h"
#include "zklock/client/dispatcher.h"
#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/process_identity.h"
#include "zklock/recipes/serial_listener.h"

namespace zklock::recipes {

/// Tells news to the user's listeners: each in order, one call at a time.
///
/// Thread-safety: all members, from any thread.
template <class News, Telling telling = Telling::every>
class Listeners {
 public:
  using Listener = SerialListener<News, telling>;

  explicit Listeners(std::shared_ptr<client::Dispatcher> dispatcher)
      : dispatcher_(std::move(dispatcher)), list_(std::make_shared<List>()) {}

  /// With `first`: that is what the listener is told before all others.
  Subscription add(typename Listener::Call listener,
                   const std::optional<News>& first = std::nullopt) {
    auto added = std::make_shared<Listener>(std::move(listener), dispatcher_);
    {
      const std::lock_guard guard(list_->mutex);
      if (first) added->tell(*first);
      list_->listeners.push_back(added);
    }
    return Subscription([list = list_, added, birth = fork_generation()] {
      if (fork_generation() != birth) {
        keep_for_ever(list);
        keep_for_ever(added);
        return;
      }
      {
        const std::lock_guard guard(list->mutex);
        std::erase(list->listeners, added);
      }
      added->remove();
    });
  }

  /// False when the system had no thread or no memory for one of them: that one hears of it with
  /// the next news.
  bool tell(const News& news) {
    bool all = true;
    // Under the mutex, so that all listeners hear of the news in one order.
    const std::lock_guard guard(list_->mutex);
    for (const auto& listener : list_->listeners) {
      try {
        listener->tell(news);
      } catch (const std::exception&) {
        all = false;
      }
    }
    return all;
  }
  bool is_empty() const {
    const std::lock_guard guard(list_->mutex);
    return list_->listeners.empty();
  }

  /// No call begins any more, but for what each listener keeps; see SerialListener.
  void fall_silent(typename Listener::Keep keep = nullptr) {
    for (const auto& listener : copy()) listener->fall_silent(keep);
  }
  /// Until no call is under way; on a thread that runs one: for none.
  void wait() {
    const auto listeners = copy();
    if (std::ranges::any_of(listeners, [](const auto& l) { return l->runs_here(); })) return;
    for (const auto& listener : listeners) listener->wait();
  }
  /// As that of SerialListener, for each; then lets go of them. On a thread that runs one, nothing
  /// is waited for, or told. `failed` is called within a handler, for what a call throws.
  template <class Failed>
  void finish(Failed failed) {
    const auto listeners = copy();
    const bool within =
        std::ranges::any_of(listeners, [](const auto& l) { return l->runs_here(); });
    for (const auto& listener : listeners) {
      if (within) {
        listener->fall_silent();
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
  /// Lets go of them all; what is in line is told.
  void forget() {
    std::vector<std::shared_ptr<Listener>> forgotten;  // destroyed after the lock
    const std::lock_guard guard(list_->mutex);
    list_->listeners.swap(forgotten);
  }

 private:
  struct List {
    std::mutex mutex;
    // guarded by mutex
    std::vector<std::shared_ptr<Listener>> listeners;
  };
  std::vector<std::shared_ptr<Listener>> copy() const {
    const std::lock_guard guard(list_->mutex);
    return list_->listeners;
  }

  std::shared_ptr<client::Dispatcher> dispatcher_;
  std::shared_ptr<List> list_;
};

}  // namespace zklock::recipes
