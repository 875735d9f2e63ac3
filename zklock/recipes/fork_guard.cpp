// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/fork_guard.h"

#include <utility>

namespace zklock::recipes {

namespace {

/// A list that no destructor runs through.
struct Kept {
  std::shared_ptr<const void> object;
  Kept* next;
};
Kept* kept =
    nullptr;  // a child of fork() starts with one thread; a lost entry is kept all the same

}  // namespace

void keep_for_ever(std::shared_ptr<const void> object) noexcept {
  kept = new Kept{std::move(object), kept};
}

}  // namespace zklock::recipes
