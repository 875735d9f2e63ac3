// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/create_limiter.h"

#include <algorithm>

#include "zklock/engine/lock_node.h"

namespace zklock::detail {

void CreateLimiter::enter(const std::shared_ptr<LockNode>& lock_node) {
  if (under_way_ < at_once_) return let_through(*lock_node);
  line_.insert(where(*lock_node), lock_node);
}

void CreateLimiter::passed() {
  --under_way_;
  while (under_way_ < at_once_ && !line_.empty()) {
    const auto next = std::move(line_.front());
    line_.pop_front();
    let_through(*next);
  }
}

bool CreateLimiter::withdraw(const LockNode& lock_node) {
  const auto found = where(lock_node);
  if (found == line_.end() || found->get() != &lock_node) return false;
  line_.erase(found);
  return true;
}

CreateLimiter::Line::iterator CreateLimiter::where(const LockNode& lock_node) {
  return std::ranges::lower_bound(line_, lock_node.number(), {},
                                  [](const auto& each) { return each->number(); });
}

void CreateLimiter::let_through(LockNode& lock_node) {
  ++under_way_;
  try {
    lock_node.let_through();
  } catch (...) {
    --under_way_;
    throw;
  }
}

}  // namespace zklock::detail
