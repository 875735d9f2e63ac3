// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/departures.h"

#include <exception>
#include <utility>

#include "zklock/recipes/client_core.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

void Departures::expect() noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(expecting_, true)) return;
  }
  try {
    core_.scheduler().at(core_.scheduler().now() + moment, [weak = core_.weak_from_this()] {
      if (const auto core = weak.lock()) core->departures().stop_expecting();
    });
  } catch (const std::exception&) {  // no memory: who lets go has the thread woken
    stop_expecting();
  }
}

void Departures::stop_expecting() noexcept {
  {
    const std::lock_guard guard(mutex_);
    expecting_ = false;
  }
  look();
}

void Departures::from(const std::shared_ptr<LockEngine>& engine) noexcept {
  if (core_.closed()) return;  // who closes it sees to all
  try {
    {
      const std::lock_guard guard(mutex_);
      engines_.push_back(engine);
      if (expecting_) return;
    }
    core_.coordinator().soon([weak = core_.weak_from_this()] {
      if (const auto core = weak.lock()) core->departures().look();
    });
  } catch (const std::exception&) {  // no memory: then here
    look();
    engine->settle();
  }
}

void Departures::look() noexcept {
  std::vector<std::weak_ptr<LockEngine>> engines;
  {
    const std::lock_guard guard(mutex_);
    engines.swap(engines_);
  }
  for (const auto& each : engines) {
    if (const auto engine = each.lock()) engine->settle();
  }
}

}  // namespace zklock::recipes
