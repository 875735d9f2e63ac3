// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/create_limiter.h"

#include <algorithm>

namespace zklock::detail {

bool CreateLimiter::enter(const std::shared_ptr<Waiter>& waiter) {
  if (in_flight_ < at_once_) {
    ++in_flight_;
    return true;
  }
  line_.insert(where(*waiter), waiter);
  return false;
}

void CreateLimiter::return_slot() {
  --in_flight_;
  while (in_flight_ < at_once_ && !line_.empty()) {
    const auto next = std::move(line_.front());
    line_.pop_front();
    ++in_flight_;
    next->let_through();
  }
}

bool CreateLimiter::withdraw(const Waiter& waiter) {
  const auto found = where(waiter);
  if (found == line_.end() || found->get() != &waiter) return false;
  line_.erase(found);
  return true;
}

CreateLimiter::Waiters::iterator CreateLimiter::where(const Waiter& waiter) {
  return std::ranges::lower_bound(line_, waiter.number(), {},
                                  [](const auto& each) { return each->number(); });
}

}  // namespace zklock::detail
