// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/core/kill_schedule.h"

#include <algorithm>
#include <chrono>

namespace zklock::cli {

using std::chrono::milliseconds;

Duration KillSchedule::lead_of(Duration session_timeout) noexcept {
  return std::max<Duration>(session_timeout / 24, milliseconds(100));
}

void KillSchedule::on_kill_limit(Instant limit) noexcept {
  kill_limit_ = limit;
  if (state_ == State::unbound) state_ = State::guarded;
}

void KillSchedule::on_end_requested(Instant at) noexcept {
  if (state_ != State::unbound && state_ != State::guarded) return;
  state_ = State::ending;
  sends_term_ = true;
  term_at_ = at;
}

void KillSchedule::on_kill_requested(Instant now) noexcept {
  if (state_ == State::killing) return;
  state_ = State::killing;
  next_kill_ = due_ = now;
}

bool KillSchedule::may_start(Instant now) const noexcept {
  return state_ == State::guarded && now < kill_limit_ - grace_;
}

Instant KillSchedule::kill_time() const noexcept {
  return state_ == State::ending ? std::min(term_at_ + grace_, kill_limit_) : kill_limit_;
}

KillSchedule::Step KillSchedule::step(Instant now) noexcept {
  if (state_ == State::unbound) return Step::none;
  if (state_ != State::killing && now >= kill_time()) {
    due_ = kill_time();
    state_ = State::killing;
  }
  if (state_ == State::killing) {
    next_kill_ = now + std::clamp<Duration>((now - due_) / 16, milliseconds(10), milliseconds(250));
    return Step::kill;
  }
  if (now < next_step_time() || (state_ == State::ending && !sends_term_)) return Step::none;
  due_ = next_step_time();
  if (state_ == State::guarded) on_end_requested(now);
  sends_term_ = false;
  return Step::term;
}

Instant KillSchedule::next_step_time() const noexcept {
  switch (state_) {
    case State::unbound: return Instant::max();
    case State::guarded: return kill_limit_ - grace_;
    case State::ending: return sends_term_ ? std::min(term_at_, kill_limit_ - grace_) : kill_time();
    case State::killing: break;
  }
  return next_kill_;
}

Instant KillSchedule::next_look(Instant now, Duration session_timeout) const noexcept {
  const Duration usual = std::max<Duration>(session_timeout / 40, milliseconds(10));
  const Duration near = std::max<Duration>(session_timeout / 800, milliseconds(5));
  const Instant step = next_step_time();
  if (state_ == State::killing) return step;
  return std::min(step, now + (step - usual > now ? usual : near));
}

}  // namespace zklock::cli
