// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/hold_record.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace zklock::detail {

using core::Instant;

// ---- HoldLimitTimer -----------------------------------------------------------------------------

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

// ---- HoldRecord ---------------------------------------------------------------------------------

HoldRecord::HoldRecord(EngineContext& context, const LockEventReporter& reporter, Terms terms,
                       std::function<void()> look)
    : context_(context),
      reporter_(reporter),
      terms_(std::move(terms)),
      limit_timer_(context.scheduler(), terms_.limit, std::move(look)) {
  reporter_.report(LockEvent::Kind::acquired, token());
}

bool HoldRecord::check_lease() const noexcept {
  return terms_.lease->check(context_.scheduler().now());
}

bool HoldRecord::check_valid(core::Instant now) const noexcept {
  return limit_timer_.check(now) && terms_.lease->check(now);
}

HoldState HoldRecord::state() const noexcept {
  if (context_.forked() || !check_held()) return HoldState::lost;
  return context_.keeper().is_connected() ? HoldState::held : HoldState::suspended;
}

LeaseClock::time_point HoldRecord::valid_until() const noexcept {
  if (state() == HoldState::lost) return LeaseClock::time_point::min();
  return std::min(terms_.lease->valid_until(), limit_timer_.valid_until());
}

std::optional<LossReason> HoldRecord::loss_reason() const noexcept {
  if (!over_.load() && !check_valid()) return record_loss(reason_of_lapse());
  const int reason = loss_reason_.load();
  if (reason == kNotLost) return std::nullopt;
  return static_cast<LossReason>(reason);
}

LossReason HoldRecord::reason_of_lapse() const noexcept {
  return check_lease() ? LossReason::max_hold : context_.keeper().reason_of_lapse(session());
}

LossReason HoldRecord::record_loss(LossReason why) const noexcept {
  int first = kNotLost;
  if (loss_reason_.compare_exchange_strong(first, static_cast<int>(why))) return why;
  return static_cast<LossReason>(first);
}

std::stop_token HoldRecord::loss_token() const {
  if (state() != HoldState::lost || loss_.stop_requested()) return loss_.get().get_token();
  return stopped_token();
}

void HoldRecord::check_clock() noexcept {
  if (limit_timer_.take_warning(context_.scheduler().now()))
    reporter_.report(LockEvent::Kind::expiring, token());
}

void HoldRecord::on_suspended() noexcept {
  context_.mutex().assert_held();
  if (!check_valid()) return;  // its loss is reported in a moment
  suspended_reported_ = true;
  reporter_.report(LockEvent::Kind::suspended, token());
}

void HoldRecord::on_resumed() noexcept {
  if (!check_valid() || !std::exchange(suspended_reported_, false)) return;
  reporter_.report(LockEvent::Kind::resumed, token());
}

std::stop_source HoldRecord::on_release_requested() {
  context_.mutex().assert_held();
  reporter_.report(LockEvent::Kind::release_requested, token());
  return release_request_.get();
}

LossReason HoldRecord::lose(LossReason why) noexcept {
  const LossReason reason = record_loss(why);  // first: over_ makes loss_reason() return it
  end(reason == LossReason::max_hold ? LockEvent::Kind::expired : LockEvent::Kind::lost, reason);
  for (LossObserver* const each : std::exchange(loss_observers_, {})) each->on_hold_lost();
  return reason;
}

void HoldRecord::release() noexcept {
  end(LockEvent::Kind::released, std::nullopt);
}

void HoldRecord::end(LockEvent::Kind kind, std::optional<LossReason> reason) noexcept {
  context_.mutex().assert_held();
  over_.store(true);
  limit_timer_.stop();
  reporter_.report(kind, token(), 0, reason);
}

}  // namespace zklock::detail
