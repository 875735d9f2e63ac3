// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/create_limiter.h"

#include <algorithm>

namespace zklock::detail {

void CreateLimiter::enter(const std::shared_ptr<Waiter>& waiter) {
  if (under_way_ < at_once_) return let_through(*waiter);
  line_.insert(where(*waiter), waiter);
}

void CreateLimiter::passed() {
  --under_way_;
  while (under_way_ < at_once_ && !line_.empty()) {
    const auto next = std::move(line_.front());
    line_.pop_front();
    let_through(*next);
  }
}

bool CreateLimiter::withdraw(const Waiter& waiter) {
  const auto found = where(waiter);
  if (found == line_.end() || found->get() != &waiter) return false;
  line_.erase(found);
  return true;
}

CreateLimiter::Line::iterator CreateLimiter::where(const Waiter& waiter) {
  return std::ranges::lower_bound(line_, waiter.number(), {},
                                  [](const auto& each) { return each->number(); });
}

void CreateLimiter::let_through(Waiter& waiter) {
  waiter.let_through();  // first: this may throw
  ++under_way_;
}

}  // namespace zklock::detail
