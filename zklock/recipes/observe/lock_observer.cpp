// SPDX-License-Identifier: Apache-2.0
#include "zklock/lock_observer.h"

#include <utility>

#include "zklock/recipes/observe/queue_observer.h"

namespace zklock {

using detail::lock_state_of;
using detail::QueueObserver;
using detail::QueueView;

LockObserver::LockObserver(Client& client, std::string path, Executor executor)
    : observer_(QueueObserver::make(client, std::move(path), detail::ViewKind::lock,
                                    std::move(executor))) {}

LockObserver::~LockObserver() {
  QueueObserver::object_destroyed(std::move(observer_));
}

LockState LockObserver::state(Deadline deadline) const {
  return lock_state_of(observer_->read(deadline));
}

Subscription LockObserver::add_listener(Listener listener) {
  return observer_->add(
      [listener = std::move(listener)](const QueueView& view) { listener(lock_state_of(view)); });
}

const std::string& LockObserver::path() const noexcept {
  return observer_->path();
}

}  // namespace zklock
