// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/expiry.h"

#include <utility>

#include "zklock/recipes/contender.h"

namespace zklock::recipes {

Expiry::Expiry(Contender& contender, core::HoldLimit limit)
    : contender_(contender), limit_(limit), term_(Instant::max()), warning_(Instant::max()) {
  if (!limit.longest) return;
  const Instant now = contender_.core().scheduler().now();
  term_.renew(now, limit_.end(now));
  begin(now);
}

void Expiry::begin(Instant now) {
  stop();
  warning_ = limit_.warning(now);
  const Instant end = term_.valid_until();
  if (end == Instant::max()) return;
  client::Scheduler& scheduler = contender_.core().scheduler();
  const auto look = contender_.entering([](Contender& c) { c.look_at_the_clock(); });
  warning_timer_ = scheduler.at(warning_, look);
  end_timer_ = scheduler.at(end, look);
}

bool Expiry::renew(std::optional<core::Duration> length) {
  const Instant now = contender_.core().scheduler().now();
  core::HoldLimit next = limit_;
  if (length) next.longest = length;
  if (!term_.renew(now, next.end(now))) return false;
  limit_ = next;
  begin(now);
  return true;
}

bool Expiry::warns(Instant now) noexcept {
  if (now < warning_) return false;
  warning_ = Instant::max();
  return true;
}

void Expiry::stop() noexcept {
  contender_.core().scheduler().cancel(std::exchange(warning_timer_, {}));
  contender_.core().scheduler().cancel(std::exchange(end_timer_, {}));
}

}  // namespace zklock::recipes
