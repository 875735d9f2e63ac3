// SPDX-License-Identifier: Apache-2.0
#include "zklock/lock_observer.h"

#include <utility>

#include "zklock/core/lock_path.h"
#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/queue_observer.h"
#include "zklock/recipes/queue_reader.h"

namespace zklock {

LockObserver::LockObserver(Client& client, std::string path) {
  const core::LockPath checked(std::move(path));
  const auto& core = recipes::ClientCore::of(client);
  core->check_usable("observe", checked.str());
  engine_ = core->engine(checked);
  observer_ = std::make_shared<recipes::QueueObserver>(engine_);
}

LockObserver::~LockObserver() {
  if (engine_->core().forked()) {
    recipes::keep_for_ever(std::move(observer_));
    recipes::keep_for_ever(std::move(engine_));
    return;
  }
  observer_->stop();
}

LockState LockObserver::state(Deadline deadline) const {
  return recipes::read_state(engine_, deadline);
}

Subscription LockObserver::add_listener(Listener listener) {
  return observer_->add(std::move(listener));
}

const std::string& LockObserver::path() const noexcept {
  return engine_->path().str();
}

}  // namespace zklock
