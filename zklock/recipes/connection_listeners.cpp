// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/connection_listeners.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "zklock/client/serial.h"
#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/process_identity.h"

namespace zklock::recipes {

/// One listener and its place in line. A call that is under way names its thread, so that removing
/// the listener waits for it, except on that thread.
class ConnectionListeners::Listener {
 public:
  Listener(std::function<void(ConnectionState)> call,
           std::shared_ptr<client::Dispatcher> dispatcher)
      : call_(std::move(call)), line_(std::move(dispatcher)) {}

  static void tell(const std::shared_ptr<Listener>& self, ConnectionState state) {
    self->line_.post([self, state] { self->run(state); });
  }

  void remove() {
    std::unique_lock lock(mutex_);
    removed_ = true;
    const auto me = std::this_thread::get_id();
    idle_.wait(lock, [&] { return running_on_ == std::thread::id() || running_on_ == me; });
  }

 private:
  void run(ConnectionState state) {
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

  const std::function<void(ConnectionState)> call_;
  client::Serial line_;

  std::mutex mutex_;
  // guarded by mutex_
  std::condition_variable idle_;
  std::thread::id running_on_;
  bool removed_ = false;
};

struct ConnectionListeners::List {
  std::mutex mutex;
  // guarded by mutex
  std::vector<std::shared_ptr<Listener>> listeners;
};

ConnectionListeners::ConnectionListeners(std::shared_ptr<client::Dispatcher> dispatcher)
    : dispatcher_(std::move(dispatcher)), list_(std::make_shared<List>()) {}

Subscription ConnectionListeners::add(std::function<void(ConnectionState)> listener) {
  auto added = std::make_shared<Listener>(std::move(listener), dispatcher_);
  {
    const std::lock_guard guard(list_->mutex);
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

void ConnectionListeners::tell(ConnectionState state) {
  // Under the mutex, so that all listeners hear of the states in one order.
  const std::lock_guard guard(list_->mutex);
  for (const auto& listener : list_->listeners) {
    try {
      Listener::tell(listener, state);
    } catch (const std::exception&) {  // no thread, no memory: it is told with the next one
    }
  }
}

}  // namespace zklock::recipes
