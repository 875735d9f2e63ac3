// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/hold_limit_timer.h"

#include <utility>

#include "zklock/engine/contender.h"

namespace zklock::detail {

HoldLimitTimer::HoldLimitTimer(Contender& contender, core::HoldLimit limit)
    : contender_(contender), limit_(limit), lease_(Instant::max()), warning_(Instant::max()) {
  if (!limit.longest) return;
  const Instant now = contender_.core().scheduler().now();
  lease_.renew(now, limit_.end(now));
  begin(now);
}

void HoldLimitTimer::begin(Instant now) {
  stop();
  warning_ = limit_.warning(now);
  const Instant end = lease_.valid_until();
  if (end == Instant::max()) return;
  client::Scheduler& scheduler = contender_.core().scheduler();
  const auto look = contender_.entering([](Contender& c) { c.look_at_the_clock(); });
  warning_timer_ = scheduler.at(warning_, look);
  end_timer_ = scheduler.at(end, look);
}

bool HoldLimitTimer::renew(std::optional<core::Duration> length) {
  const Instant now = contender_.core().scheduler().now();
  core::HoldLimit next = limit_;
  if (length) next.longest = length;
  if (!lease_.renew(now, next.end(now))) return false;
  limit_ = next;
  begin(now);
  return true;
}

bool HoldLimitTimer::warns(Instant now) noexcept {
  if (now < warning_) return false;
  warning_ = Instant::max();
  return true;
}

void HoldLimitTimer::stop() noexcept {
  contender_.core().scheduler().cancel(std::exchange(warning_timer_, {}));
  contender_.core().scheduler().cancel(std::exchange(end_timer_, {}));
}

}  // namespace zklock::detail
