// SPDX-License-Identifier: Apache-2.0
#include "zklock/election_observer.h"

#include <utility>

#include "zklock/recipes/observe/queue_observer.h"

namespace zklock {

using detail::QueueObserver;
using detail::QueueView;

namespace {

ElectionState state_of(const QueueView& view) {
  ElectionState state;
  if (!view.holders.empty()) state.leader = view.holders.front();
  state.value = view.proclaimed;
  return state;
}

}  // namespace

ElectionObserver::ElectionObserver(Client& client, std::string path, Executor executor)
    : observer_(QueueObserver::make(client, std::move(path), detail::ViewKind::leadership,
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
