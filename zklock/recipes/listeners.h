// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "zklock/client.h"
#include "zklock/client/dispatcher.h"
#include "zklock/client/serial.h"
#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/process_identity.h"

namespace zklock::recipes {

enum class Telling {
  every,   ///< state, however far behind a listener is
  newest,  ///< state, when the listener is ready for it, if it is another than it was told last
};

/// Tells states to the user's listeners: each in order, one call at a time.
///
/// Thread-safety: all members, from any thread.
template <class State, Telling telling = Telling::every>
class Listeners {
 public:
  explicit Listeners(std::shared_ptr<client::Dispatcher> dispatcher)
      : dispatcher_(std::move(dispatcher)), list_(std::make_shared<List>()) {}

  /// With `first`: that is what the listener is told before all others.
  Subscription add(std::function<void(const State&)> listener,
                   const std::optional<State>& first = std::nullopt) {
    auto added = std::make_shared<Listener>(std::move(listener), dispatcher_);
    {
      const std::lock_guard guard(list_->mutex);
      if (first) Listener::tell(added, *first);
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

  /// None of them is called any more. Waits as a Subscription does.
  void remove_all() {
    std::vector<std::shared_ptr<Listener>> removed;
    {
      const std::lock_guard guard(list_->mutex);
      removed.swap(list_->listeners);
    }
    for (const auto& listener : removed) listener->remove();
  }

  void tell(const State& state) {
    // Under the mutex, so that all listeners hear of the states in one order.
    const std::lock_guard guard(list_->mutex);
    for (const auto& listener : list_->listeners) {
      try {
        Listener::tell(listener, state);
      } catch (const std::exception&) {  // no thread, no memory: it is told with the next one
      }
    }
  }

 private:
  /// One listener and its place in line. A call that is under way names its thread, so that
  /// removing the listener waits for it, except on that thread.
  class Listener {
   public:
    Listener(std::function<void(const State&)> call, std::shared_ptr<client::Dispatcher> dispatcher)
        : call_(std::move(call)), line_(std::move(dispatcher)) {}

    static void tell(const std::shared_ptr<Listener>& self, const State& state) {
      if constexpr (telling == Telling::every) {
        self->line_.post([self, state] { self->run(state); });
      } else {
        {
          const std::lock_guard guard(self->mutex_);
          if (std::exchange(self->newest_, state)) return;  // one is in line, and will see it
        }
        self->line_.post([self] { self->run_newest(); });
      }
    }

    void remove() {
      std::unique_lock lock(mutex_);
      removed_ = true;
      const auto me = std::this_thread::get_id();
      idle_.wait(lock, [&] { return running_on_ == std::thread::id() || running_on_ == me; });
    }

   private:
    void run_newest() {
      std::optional<State> state;
      {
        const std::lock_guard guard(mutex_);
        state = std::exchange(newest_, std::nullopt);
      }
      if (state == told_) return;
      told_ = state;
      run(*state);
    }

    void run(const State& state) {
      {
        const std::lock_guard guard(mutex_);
        if (removed_) return;
        running_on_ = std::this_thread::get_id();
      }
      struct Ended {
        Listener& listener;
        ~Ended() {
          const std::lock_guard guard(listener.mutex_);
          listener.running_on_ = {};
          listener.idle_.notify_all();
        }
      } const ended{*this};
      call_(state);
    }

    const std::function<void(const State&)> call_;
    client::Serial line_;
    std::optional<State> told_;  // of the tasks in line

    std::mutex mutex_;
    // guarded by mutex_
    std::condition_variable idle_;
    std::thread::id running_on_;
    std::optional<State> newest_;
    bool removed_ = false;
  };

  struct List {
    std::mutex mutex;
    // guarded by mutex
    std::vector<std::shared_ptr<Listener>> listeners;
  };

  std::shared_ptr<client::Dispatcher> dispatcher_;
  std::shared_ptr<List> list_;
};

}  // namespace zklock::recipes
