// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/grant.h"

#include <algorithm>
#include <utility>

#include "zklock/engine/callback/stopped_token.h"
#include "zklock/engine/contender.h"

namespace zklock::detail {

Grant::Grant(Contender& contender, Terms terms)
    : contender_(contender),
      core_(contender.core()),
      terms_(std::move(terms)),
      limit_timer_(contender, terms_.limit),
      node_(terms_.node) {
  contender_.notify_event(LockEvent::Kind::acquired, token());
}

bool Grant::lease_valid() const noexcept {
  return terms_.lease->valid(core_.scheduler().now());
}

bool Grant::valid() const noexcept {
  const core::Instant now = core_.scheduler().now();
  return limit_timer_.valid(now) && terms_.lease->valid(now);
}

HoldState Grant::state() const noexcept {
  if (core_.forked() || !holds()) return HoldState::lost;
  return core_.keeper().is_connected() ? HoldState::held : HoldState::suspended;
}

LeaseClock::time_point Grant::valid_until() const noexcept {
  if (state() == HoldState::lost) return LeaseClock::time_point::min();
  return std::min(terms_.lease->valid_until(), limit_timer_.at());
}

std::stop_token Grant::lost() const noexcept {
  if (state() != HoldState::lost || loss_.stop_requested()) return loss_.get_token();
  return stopped_token();
}

void Grant::look_at_the_clock() noexcept {
  if (limit_timer_.warns(core_.scheduler().now()))
    contender_.notify_event(LockEvent::Kind::expiring, token());
}

void Grant::suspended() noexcept {
  if (!valid()) return;  // its loss is reported in a moment
  told_suspended_ = true;
  contender_.notify_event(LockEvent::Kind::suspended, token());
}

void Grant::resumed() noexcept {
  if (!valid() || !std::exchange(told_suspended_, false)) return;
  contender_.notify_event(LockEvent::Kind::resumed, token());
}

std::stop_source Grant::on_release_requested() noexcept {
  contender_.notify_event(LockEvent::Kind::release_requested, token());
  return request_;
}

void Grant::end(LockEvent::Kind why) noexcept {
  over_.store(true);
  limit_timer_.stop();
  contender_.notify_event(why, token());
}

}  // namespace zklock::detail
