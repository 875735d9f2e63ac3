// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/composite_fsm.h"

#include <algorithm>
#include <cassert>

#include "zklock/core/invariant_check.h"

namespace zklock::core {

bool CompositeFsm::can_follow(CompositeState before, CompositeState after) noexcept {
  switch (before) {
    case CompositeState::idle: return true;
    case CompositeState::requesting:
    case CompositeState::cancelling: return after != CompositeState::idle;
    case CompositeState::granted:
    case CompositeState::ended: return after == before;
  }
  return false;
}

void CompositeFsm::assert_invariants() const noexcept {
  assert(rule_.needed >= 1 && rule_.needed <= rule_.parts);
  assert(standings_.size() == rule_.parts);
  switch (state_) {
    case CompositeState::idle:
      assert(count(Standing::untried) == rule_.parts);
      assert(!stopped_ && !timed_out_);
      break;
    case CompositeState::requesting: assert(!stopped_ && !timed_out_); [[fallthrough]];
    case CompositeState::cancelling:
      assert(count(Standing::requested) == 1);
      assert(standings_[requested_] == Standing::requested);
      break;
    case CompositeState::granted:
      assert(count(Standing::held) >= rule_.needed);
      assert(!stopped_);
      [[fallthrough]];
    case CompositeState::ended:
      assert(count(Standing::requested) == 0);
      assert(!timed_out_);
      break;
  }
}

CompositeEffects CompositeFsm::start() {
  const InvariantCheck check(*this);
  return state_ == CompositeState::idle ? request_next() : CompositeEffects{};
}

CompositeEffects CompositeFsm::on_part_answered(PartAnswer answer, bool late) {
  const InvariantCheck check(*this);
  if (state_ != CompositeState::requesting && state_ != CompositeState::cancelling) return {};
  switch (answer) {
    case PartAnswer::granted: standings_[requested_] = Standing::held; break;
    case PartAnswer::none:
      standings_[requested_] = timed_out_ ? Standing::unreachable : Standing::busy;
      break;
    case PartAnswer::unreachable: standings_[requested_] = Standing::unreachable; break;
    case PartAnswer::skipped: standings_[requested_] = Standing::skipped; break;
    case PartAnswer::failed: standings_[requested_] = Standing::failed; break;
  }
  timed_out_ = false;
  return stopped_ ? end(Kind::end) : go_on(late);
}

CompositeEffects CompositeFsm::on_part_timed_out() {
  const InvariantCheck check(*this);
  if (state_ != CompositeState::requesting) return {};
  state_ = CompositeState::cancelling;
  timed_out_ = true;
  return {{Kind::cancel, requested_}};
}

CompositeEffects CompositeFsm::on_part_lost(std::size_t part) {
  const InvariantCheck check(*this);
  if (is_over() || standings_.at(part) != Standing::held) return {};
  standings_[part] = Standing::lost;
  CompositeEffects effects{{Kind::release, part}};
  if (state_ == CompositeState::requesting && !enough_possible()) {
    state_ = CompositeState::cancelling;
    effects.push_back({Kind::cancel, requested_});
  }
  return effects;
}

CompositeEffects CompositeFsm::stop() {
  const InvariantCheck check(*this);
  if (is_over()) return {};
  stopped_ = true;
  if (state_ == CompositeState::idle) return end(Kind::end);
  if (state_ == CompositeState::cancelling) return {};
  state_ = CompositeState::cancelling;
  return {{Kind::cancel, requested_}};
}

CompositeEffects CompositeFsm::go_on(bool late) {
  if (!enough_possible()) return too_few(late);
  const bool enough = count(Standing::held) >= rule_.needed;
  if (enough && (late || count(Standing::untried) == 0)) {
    state_ = CompositeState::granted;
    return {{Kind::grant}};
  }
  if (!late) return request_next();
  const bool out = requests_every_part_ && standings_[requested_] == Standing::unreachable;
  return end(out ? Kind::fail : Kind::end);
}

CompositeEffects CompositeFsm::too_few(bool late) {
  const auto lost = std::ranges::find(standings_, Standing::lost);
  const bool in_time = rule_.wait && !late;
  if (lost != standings_.end()) {
    if (!rule_.queue_again) {
      return end(Kind::fail_lost, static_cast<std::size_t>(lost - standings_.begin()));
    }
    return in_time ? start_again() : end(Kind::end);
  }
  if (in_time && may_become_reachable()) {
    requests_every_part_ = true;
    return start_again();
  }
  const std::size_t failed =
      count(Standing::failed) + count(Standing::unreachable) + count(Standing::skipped);
  return end(failed > rule_.parts - rule_.needed ? Kind::fail : Kind::end);
}

bool CompositeFsm::may_become_reachable() const noexcept {
  if (!rule_.persists && count(Standing::skipped) == 0) return false;
  return count(Standing::failed) <= rule_.parts - rule_.needed;
}

CompositeEffects CompositeFsm::start_again() {
  CompositeEffects effects = release_all();
  std::ranges::fill(standings_, Standing::untried);
  for (const CompositeEffect& effect : request_next()) effects.push_back(effect);
  return effects;
}

CompositeEffects CompositeFsm::request_next() {
  const auto next = std::ranges::find(standings_, Standing::untried);
  requested_ = static_cast<std::size_t>(next - standings_.begin());
  *next = Standing::requested;
  state_ = CompositeState::requesting;
  const bool wait = rule_.wait && count(Standing::held) < rule_.needed;
  return {{wait ? Kind::request : Kind::request_once, requested_}};
}

CompositeEffects CompositeFsm::end(Kind kind, std::size_t part) {
  CompositeEffects effects = release_all();
  effects.push_back({kind, part});
  state_ = CompositeState::ended;
  return effects;
}

// Releases the last part first. Otherwise another call could be granted one part only to wait for
// the part after it.
CompositeEffects CompositeFsm::release_all() {
  CompositeEffects effects;
  for (std::size_t part = standings_.size(); part-- > 0;) {
    if (standings_[part] == Standing::held) effects.push_back({Kind::release, part});
  }
  return effects;
}

std::size_t CompositeFsm::count(Standing standing) const noexcept {
  return static_cast<std::size_t>(std::ranges::count(standings_, standing));
}

bool CompositeFsm::enough_possible() const noexcept {
  return count(Standing::held) + count(Standing::requested) + count(Standing::untried) >=
         rule_.needed;
}

}  // namespace zklock::core
