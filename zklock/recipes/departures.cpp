// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/departures.h"

#include <chrono>
#include <exception>
#include <utility>

#include "zklock/recipes/client_core.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

namespace {

/// For so long a node may stay that hardly anybody waits for: less than a server takes to answer.
constexpr std::chrono::microseconds moment{200};

}  // namespace

void Departures::expect() noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(expecting_, true)) return;
  }
  try {
    core_.scheduler().at(core_.scheduler().now() + moment, [weak = core_.weak_from_this()] {
      if (const auto core = weak.lock()) core->departures().moment_over();
    });
  } catch (const std::exception&) {  // no memory: who lets go has the thread woken
    moment_over();
  }
}

void Departures::moment_over() noexcept {
  {
    const std::lock_guard guard(mutex_);
    expecting_ = false;
  }
  look();
}

void Departures::from(std::weak_ptr<LockEngine> engine) noexcept {
  try {
    {
      const std::lock_guard guard(mutex_);
      engines_.push_back(std::move(engine));
      if (expecting_) return;
    }
    core_.coordinator().soon([weak = core_.weak_from_this()] {
      if (const auto core = weak.lock()) core->departures().look();
    });
  } catch (const std::exception& e) {  // no memory
    core_.warn(e.what());
    look();
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
