// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/hold_limit_timer.h"

#include <cassert>
#include <utility>

namespace zklock::detail {

using core::Instant;

HoldLimitTimer::HoldLimitTimer(client::Scheduler& scheduler, core::HoldLimit limit,
                               std::function<void()> look)
    : scheduler_(scheduler),
      look_(std::move(look)),
      limit_(limit),
      period_(Instant::max()),
      warning_(Instant::max()) {
  if (!limit.longest) return;
  const Instant now = scheduler_.now();
  period_.renew(now, limit_.end(now));
  begin(now);
}

void HoldLimitTimer::begin(Instant now) {
  stop();
  warning_ = limit_.warning(now);
  const Instant end = period_.valid_until();
  if (end == Instant::max()) return;
  assert(look_);
  warning_timer_ = scheduler_.at(warning_, look_);
  end_timer_ = scheduler_.at(end, look_);
}

bool HoldLimitTimer::renew(std::optional<core::Duration> length, std::function<void()> look) {
  const Instant now = scheduler_.now();
  core::HoldLimit next = limit_;
  if (length) next.longest = length;
  if (!period_.renew(now, next.end(now))) return false;
  limit_ = next;
  look_ = std::move(look);
  begin(now);
  return true;
}

bool HoldLimitTimer::take_warning(Instant now) noexcept {
  if (now < warning_) return false;
  warning_ = Instant::max();
  return true;
}

void HoldLimitTimer::stop() noexcept {
  scheduler_.cancel(std::exchange(warning_timer_, {}));
  scheduler_.cancel(std::exchange(end_timer_, {}));
}

}  // namespace zklock::detail
