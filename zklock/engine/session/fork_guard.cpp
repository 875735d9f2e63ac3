// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/fork_guard.h"

#include <utility>

#include <pthread.h>

namespace zklock::detail {

namespace {

/// An entry of a list that is never destroyed.
struct Retained {
  std::shared_ptr<const void> object;
  Retained* next;
};
std::atomic<Retained*> retained = nullptr;

// Called in a child before fork() returns there.
void count_fork() noexcept {
  fork_count.fetch_add(1, std::memory_order_relaxed);
}

void count_forks() noexcept {
  static const int kRegistered = ::pthread_atfork(nullptr, nullptr, &count_fork);
  static_cast<void>(kRegistered);
}

// Registered when the library is loaded, so that no fork() is missed. The constructor of ForkGuard
// registers it too, for objects that are initialised still earlier.
const bool kForksAreCounted = (count_forks(), true);

}  // namespace

ForkGuard::ForkGuard() noexcept {
  count_forks();
  birth_ = fork_generation();
}

void keep_for_ever(std::shared_ptr<const void> object) noexcept {
  const auto entry = new Retained{std::move(object), nullptr};
  entry->next = retained.exchange(entry);
}

}  // namespace zklock::detail
