// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/end_plan.h"

#include <algorithm>
#include <chrono>

namespace zklock::cli {

Duration EndPlan::lead_of(Duration session_timeout) noexcept {
  return std::max<Duration>(session_timeout / 24, std::chrono::milliseconds(100));
}

void EndPlan::on_bound(Instant bound, Duration session_timeout) noexcept {
  bound_ = bound;
  lead_ = lead_of(session_timeout);
  if (state_ == State::unbound) state_ = State::guarded;
}

void EndPlan::on_end_requested(Instant now) noexcept {
  if (state_ != State::unbound && state_ != State::guarded) return;
  state_ = State::ending;
  sends_term_ = true;
  term_at_ = now;
}

void EndPlan::on_kill_requested(Instant now) noexcept {
  if (state_ == State::killing) return;
  state_ = State::killing;
  due_ = now;
}

bool EndPlan::may_start(Instant now) const noexcept {
  return state_ == State::guarded && now < bound_ - lead_ - grace_;
}

Instant EndPlan::kill_time() const noexcept {
  const Instant by_bound = bound_ - lead_;
  return state_ == State::ending ? std::min(term_at_ + grace_, by_bound) : by_bound;
}

EndPlan::Step EndPlan::step(Instant now) noexcept {
  if (state_ == State::unbound) return Step::none;
  if (state_ != State::killing && now >= kill_time()) {
    due_ = kill_time();
    state_ = State::killing;
  }
  if (state_ == State::killing) return Step::kill;
  if (state_ == State::guarded && now >= kill_time() - grace_) {
    due_ = kill_time() - grace_;
    on_end_requested(now);
  } else if (sends_term_) {
    due_ = term_at_;
  }
  if (!sends_term_) return Step::none;
  sends_term_ = false;
  return Step::term;
}

Instant EndPlan::next() const noexcept {
  switch (state_) {
    case State::unbound: return Instant::max();
    case State::guarded: return kill_time() - grace_;
    case State::ending: return sends_term_ ? std::min(term_at_, kill_time()) : kill_time();
    case State::killing: break;
  }
  return Instant::min();
}

}  // namespace zklock::cli
