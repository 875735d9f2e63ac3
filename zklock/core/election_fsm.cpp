// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/election_fsm.h"

#include <cassert>

#include "zklock/core/invariant_check.h"

namespace zklock::core {

using State = CandidateState;
using Effect = ElectionEffect;

bool ends_contention(Errc error) noexcept {
  switch (error) {
    case Errc::not_connected:
    case Errc::session_expired:
    case Errc::node_deleted:
    case Errc::lock_lost:
    case Errc::quota_exceeded:
    case Errc::read_only:
    case Errc::sequence_exhausted:  // until the path has no other children
    case Errc::node_exists:         // until the znode with the next name is deleted
    case Errc::too_many_nodes:
    case Errc::too_many_watches:
    case Errc::outcome_unknown:
    case Errc::server_error: return false;
    case Errc::invalid_path:
    case Errc::invalid_hosts:
    case Errc::invalid_option:
    case Errc::not_owner:
    case Errc::closed:
    case Errc::forked:
    case Errc::no_auth:
    case Errc::auth_failed:
    case Errc::invalid_acl:
    case Errc::no_chroot:
    case Errc::unsupported:
    case Errc::would_deadlock:
    case Errc::settings_mismatch:
    case Errc::no_node:
    case Errc::not_empty:
    case Errc::version_mismatch:
    case Errc::too_large:
    case Errc::bad_data: return true;
  }
  return true;
}

bool ElectionFsm::can_follow(State before, State after) noexcept {
  if (before == State::closing) return after == State::closing || after == State::closed;
  return before != State::closed || after == State::closed;
}

void ElectionFsm::assert_invariants() const noexcept {
  assert(attempt_ > 0 || !afterwards_);
  switch (state_) {
    case State::contending:
    case State::failed: assert(attempt_ > 0 && !afterwards_); break;
    case State::backing_off: assert(attempt_ > 0 && afterwards_.value_or(true)); break;
    case State::leading:
    case State::ending:
    case State::closing: assert(attempt_ > 0); break;
    case State::idle:
    case State::closed: break;
  }
}

bool ElectionFsm::will_contend() const noexcept {
  switch (state_) {
    case State::contending:
    case State::backing_off: return true;
    case State::leading:
    case State::ending: return afterwards_.value_or(again_);
    case State::idle:
    case State::closing:
    case State::failed:
    case State::closed: return false;
  }
  return false;
}

ElectionEffects ElectionFsm::begin_attempt() {
  ElectionEffects effects{Effect::contend};  // first: this may throw
  state_ = State::contending;
  ++attempt_;
  afterwards_.reset();
  return effects;
}

ElectionEffects ElectionFsm::contend() {
  const InvariantCheck check(*this);
  switch (state_) {
    case State::idle:
    case State::failed: return begin_attempt();
    case State::leading:
    case State::ending: afterwards_ = true; return {};
    case State::contending:
    case State::backing_off:
    case State::closing:
    case State::closed: return {};
  }
  return {};
}

ElectionEffects ElectionFsm::on_granted(Attempt attempt) {
  const InvariantCheck check(*this);
  if (!is_current(attempt, State::contending)) return {Effect::release_late};
  state_ = State::leading;
  return {Effect::begin};
}

ElectionEffects ElectionFsm::on_failed(Attempt attempt, bool for_good) {
  const InvariantCheck check(*this);
  if (!is_current(attempt, State::contending)) return {};
  state_ = for_good ? State::failed : State::backing_off;
  if (for_good) return {};
  return {Effect::pause};
}

ElectionEffects ElectionFsm::on_pause_over(Attempt attempt) {
  const InvariantCheck check(*this);
  if (!is_current(attempt, State::backing_off)) return {};
  return begin_attempt();
}

ElectionEffects ElectionFsm::on_lost(Attempt attempt) {
  const InvariantCheck check(*this);
  if (!is_current(attempt, State::leading)) return {};
  state_ = State::ending;
  return {Effect::stop};
}

ElectionEffects ElectionFsm::on_finished(Attempt attempt, LeaderEnd end) {
  const InvariantCheck check(*this);
  if (attempt != attempt_) return {};
  switch (state_) {
    case State::leading:
    case State::ending: {
      if (end == LeaderEnd::not_run && !afterwards_) afterwards_ = true;
      ElectionEffects effects;
      if (state_ == State::leading) effects.push_back(Effect::stop);
      effects.push_back(Effect::release);
      if (will_contend() && end == LeaderEnd::threw) {
        state_ = State::backing_off;
        effects.push_back(Effect::pause);
      } else if (will_contend()) {
        begin_attempt();
        effects.push_back(Effect::contend);
      } else {
        state_ = State::idle;
      }
      return effects;
    }
    case State::closing: state_ = State::closed; return {Effect::release};
    case State::idle:
    case State::contending:
    case State::backing_off:
    case State::failed:
    case State::closed: return {};
  }
  return {};
}

ElectionEffects ElectionFsm::interrupt() {
  const InvariantCheck check(*this);
  return on_lost(attempt_);
}

ElectionEffects ElectionFsm::withdraw() {
  const InvariantCheck check(*this);
  switch (state_) {
    case State::contending: state_ = State::idle; return {Effect::cancel};
    case State::backing_off:
    case State::failed: state_ = State::idle; return {};
    case State::leading:
    case State::ending: afterwards_ = false; return interrupt();
    case State::idle:
    case State::closing:
    case State::closed: return {};
  }
  return {};
}

ElectionEffects ElectionFsm::close() {
  const InvariantCheck check(*this);
  switch (state_) {
    case State::contending: state_ = State::closed; return {Effect::cancel};
    case State::leading: state_ = State::closing; return {Effect::stop};
    case State::ending: state_ = State::closing; return {};
    case State::idle:
    case State::backing_off:
    case State::failed: state_ = State::closed; return {};
    case State::closing:
    case State::closed: return {};
  }
  return {};
}

}  // namespace zklock::core
