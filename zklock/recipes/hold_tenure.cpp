// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/hold_tenure.h"

#include <algorithm>
#include <utility>

#include "zklock/recipes/contender.h"
#include "zklock/recipes/stopped_token.h"

namespace zklock::recipes {

HoldTenure::HoldTenure(Contender& contender, Grant grant)
    : contender_(contender),
      core_(contender.core()),
      grant_(std::move(grant)),
      expiry_(contender, grant_.limit),
      node_(grant_.node) {
  contender_.tell_event(LockEvent::Kind::acquired, token());
}

bool HoldTenure::lease_valid() const noexcept {
  return grant_.lease->valid(core_.scheduler().now());
}

bool HoldTenure::valid() const noexcept {
  const core::Instant now = core_.scheduler().now();
  return expiry_.valid(now) && grant_.lease->valid(now);
}

HoldState HoldTenure::state() const noexcept {
  if (core_.forked() || !holds()) return HoldState::lost;
  return core_.keeper().is_connected() ? HoldState::held : HoldState::suspended;
}

LeaseClock::time_point HoldTenure::valid_until() const noexcept {
  if (state() == HoldState::lost) return LeaseClock::time_point::min();
  return std::min(grant_.lease->valid_until(), expiry_.at());
}

std::stop_token HoldTenure::lost() const noexcept {
  if (state() != HoldState::lost || loss_.stop_requested()) return loss_.get_token();
  return stopped_token();
}

void HoldTenure::look_at_the_clock() noexcept {
  if (expiry_.warns(core_.scheduler().now()))
    contender_.tell_event(LockEvent::Kind::expiring, token());
}

void HoldTenure::suspended() noexcept {
  if (!valid()) return;  // its loss is reported in a moment
  told_suspended_ = true;
  contender_.tell_event(LockEvent::Kind::suspended, token());
}

void HoldTenure::resumed() noexcept {
  if (!valid() || !std::exchange(told_suspended_, false)) return;
  contender_.tell_event(LockEvent::Kind::resumed, token());
}

std::stop_source HoldTenure::asked_to_release() noexcept {
  contender_.tell_event(LockEvent::Kind::release_requested, token());
  return request_;
}

void HoldTenure::end(LockEvent::Kind why) noexcept {
  over_.store(true);
  expiry_.stop();
  contender_.tell_event(why, token());
}

}  // namespace zklock::recipes
