// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/fork_guard.h"

#include <atomic>
#include <utility>

namespace zklock::detail {

namespace {

/// An entry of a list that is never destroyed.
struct Kept {
  std::shared_ptr<const void> object;
  Kept* next;
};
std::atomic<Kept*> kept = nullptr;

}  // namespace

void keep_for_ever(std::shared_ptr<const void> object) noexcept {
  const auto entry = new Kept{std::move(object), nullptr};
  entry->next = kept.exchange(entry);
}

}  // namespace zklock::detail
