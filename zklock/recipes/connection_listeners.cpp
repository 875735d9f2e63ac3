// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/connection_listeners.h"

#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/process_identity.h"
#include "zklock/recipes/serial_listener.h"

namespace zklock::recipes {

using Listener = SerialListener<ConnectionState>;

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
      listener->tell(state);
    } catch (const std::exception&) {  // no thread, no memory: it is told with the next one
    }
  }
}

}  // namespace zklock::recipes
