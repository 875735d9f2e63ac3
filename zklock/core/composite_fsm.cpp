// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/composite_fsm.h"

#include <algorithm>

namespace zklock::core {

CompositeEffects CompositeFsm::start() {
  return state_ == CompositeState::idle ? ask_next() : CompositeEffects{};
}

CompositeEffects CompositeFsm::answered(PartAnswer answer, bool late) {
  if (state_ != CompositeState::asking && state_ != CompositeState::calling_off) return {};
  switch (answer) {
    case PartAnswer::granted: standings_[asked_] = Standing::taken; break;
    case PartAnswer::none:
      standings_[asked_] = passed_over_ ? Standing::out_of_reach : Standing::busy;
      break;
    case PartAnswer::out_of_reach: standings_[asked_] = Standing::out_of_reach; break;
    case PartAnswer::not_asked: standings_[asked_] = Standing::not_asked; break;
    case PartAnswer::failed: standings_[asked_] = Standing::failed; break;
  }
  passed_over_ = false;
  return stopped_ ? end(Kind::end) : go_on(late);
}

CompositeEffects CompositeFsm::silent() {
  if (state_ != CompositeState::asking) return {};
  state_ = CompositeState::calling_off;
  passed_over_ = true;
  return {{Kind::call_off, asked_}};
}

CompositeEffects CompositeFsm::lost(std::size_t part) {
  if (over() || standings_.at(part) != Standing::taken) return {};
  standings_[part] = Standing::lost;
  CompositeEffects effects{{Kind::drop, part}};
  if (state_ == CompositeState::asking && !enough_possible()) {
    state_ = CompositeState::calling_off;
    effects.push_back({Kind::call_off, asked_});
  }
  return effects;
}

CompositeEffects CompositeFsm::stop() {
  if (over()) return {};
  stopped_ = true;
  if (state_ == CompositeState::idle) return end(Kind::end);
  if (state_ == CompositeState::calling_off) return {};
  state_ = CompositeState::calling_off;
  return {{Kind::call_off, asked_}};
}

CompositeEffects CompositeFsm::go_on(bool late) {
  if (!enough_possible()) return too_few(late);
  const bool enough = count(Standing::taken) >= rule_.needed;
  if (enough && (late || count(Standing::untried) == 0)) {
    state_ = CompositeState::granted;
    return {{Kind::grant}};
  }
  if (!late) return ask_next();
  const bool out = in_earnest_ && standings_[asked_] == Standing::out_of_reach;
  return end(out ? Kind::fail : Kind::end);
}

CompositeEffects CompositeFsm::too_few(bool late) {
  const auto lost = std::ranges::find(standings_, Standing::lost);
  const bool in_time = rule_.wait && !late;
  if (lost != standings_.end()) {
    if (!rule_.queue_again) {
      return end(Kind::fail_lost, static_cast<std::size_t>(lost - standings_.begin()));
    }
    return in_time ? begin_anew() : end(Kind::end);
  }
  if (in_time && may_come_into_reach()) {
    in_earnest_ = true;
    return begin_anew();
  }
  const std::size_t failed =
      count(Standing::failed) + count(Standing::out_of_reach) + count(Standing::not_asked);
  return end(failed > rule_.parts - rule_.needed ? Kind::fail : Kind::end);
}

bool CompositeFsm::may_come_into_reach() const noexcept {
  if (!rule_.persists && count(Standing::not_asked) == 0) return false;
  return count(Standing::failed) <= rule_.parts - rule_.needed;
}

CompositeEffects CompositeFsm::begin_anew() {
  CompositeEffects effects = drop_all();
  std::ranges::fill(standings_, Standing::untried);
  for (const CompositeEffect& effect : ask_next()) effects.push_back(effect);
  return effects;
}

CompositeEffects CompositeFsm::ask_next() {
  const auto next = std::ranges::find(standings_, Standing::untried);
  asked_ = static_cast<std::size_t>(next - standings_.begin());
  *next = Standing::asked;
  state_ = CompositeState::asking;
  const bool wait = rule_.wait && count(Standing::taken) < rule_.needed;
  return {{wait ? Kind::ask : Kind::ask_once, asked_}};
}

CompositeEffects CompositeFsm::end(Kind kind, std::size_t part) {
  CompositeEffects effects = drop_all();
  effects.push_back({kind, part});
  state_ = CompositeState::ended;
  return effects;
}

// Releases the last part first. Otherwise another call could be granted one part only to wait for
// the part after it.
CompositeEffects CompositeFsm::drop_all() {
  CompositeEffects effects;
  for (std::size_t part = standings_.size(); part-- > 0;) {
    if (standings_[part] == Standing::taken) effects.push_back({Kind::drop, part});
  }
  return effects;
}

std::size_t CompositeFsm::count(Standing standing) const noexcept {
  return static_cast<std::size_t>(std::ranges::count(standings_, standing));
}

bool CompositeFsm::enough_possible() const noexcept {
  return count(Standing::taken) + count(Standing::asked) + count(Standing::untried) >= rule_.needed;
}

}  // namespace zklock::core
