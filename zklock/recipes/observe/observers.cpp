// SPDX-License-Identifier: Apache-2.0
// The public observers of one queue: each shows the views of its QueueObserver in its own form.
#include <utility>

#include "zklock/election_observer.h"
#include "zklock/lock_observer.h"
#include "zklock/recipes/observe/queue_observer.h"

namespace zklock {

using detail::QueueObserver;
using detail::QueueView;

namespace {

ElectionState state_of(const QueueView& view) {
  ElectionState state;
  if (!view.lock.holders.empty()) state.leader = view.lock.holders.front();
  state.value = view.proclaimed;
  return state;
}

}  // namespace

// ---- LockObserver -------------------------------------------------------------------------------

LockObserver::LockObserver(Client& client, std::string path, Executor executor)
    : observer_(QueueObserver::make(client, std::move(path), detail::ViewScope::all_holders(),
                                    std::move(executor))) {}

LockObserver::~LockObserver() {
  QueueObserver::object_destroyed(std::move(observer_));
}

LockState LockObserver::state(Deadline deadline) const {
  return observer_->read(deadline).lock;
}

Subscription LockObserver::add_listener(Listener listener) {
  return observer_->add(
      [listener = std::move(listener)](const QueueView& view) { listener(view.lock); });
}

const std::string& LockObserver::path() const noexcept {
  return observer_->path();
}

// ---- ElectionObserver ---------------------------------------------------------------------------

ElectionObserver::ElectionObserver(Client& client, std::string path, Executor executor)
    : observer_(QueueObserver::make(client, std::move(path), detail::ViewScope::leadership(),
                                    std::move(executor))) {}

ElectionObserver::~ElectionObserver() {
  QueueObserver::object_destroyed(std::move(observer_));
}

ElectionState ElectionObserver::state(Deadline deadline) const {
  return state_of(observer_->read(deadline));
}

Subscription ElectionObserver::add_listener(Listener listener) {
  return observer_->add(
      [listener = std::move(listener)](const QueueView& view) { listener(state_of(view)); });
}

const std::string& ElectionObserver::path() const noexcept {
  return observer_->path();
}

}  // namespace zklock
