// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/lease_keeper.h"

#include <algorithm>
#include <cassert>
#include <thread>
#include <utility>

#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/engine_lock.h"

namespace zklock::detail {

namespace {

/// A quorum operation, whatever its status is.
client::Operation heartbeat() {
  return client::request::Check{"/"};
}

/// A request that the leader answers, and that no server logs.
client::Operation sync() {
  return client::request::Sync{"/"};
}

/// The limit of requests that lock nodes send at one tick. Later requests, above all the next
/// heartbeat, must not wait for the watches of thousands of lock nodes.
constexpr int kMostRequestsAtATick = 500;

bool is_unanswered(core::Status status) noexcept {
  const core::StatusSort sort = core::sort_of(status);
  return sort == core::StatusSort::outcome_unknown || sort == core::StatusSort::unsent;
}

}  // namespace

Instant LeaseKeeper::now() const noexcept {
  return context_.scheduler().now();
}

void LeaseKeeper::assert_invariants() const {
  context_.mutex().assert_held();
  assert(connected_ == evidence_.has_value());
  assert(connected_ || tick_timer_ == client::TimerId{});
  assert(!lease_ || lease_->session() == session());
  assert(!stopped_ || (!connected_ && !lease_));
  assert(holds_ >= 0);
}

template <class Step>
auto LeaseKeeper::under_lock(Step step) {
  return [weak = context_.weak_from_this(), step = std::move(step)](const auto&... arguments) {
    const auto context = weak.lock();
    if (!context) return;
    {
      const EngineLock lock({*context});
      step(arguments...);
    }
    context->keeper().deliver();
  };
}

// ---- events of the session ----------------------------------------------------------------------

void LeaseKeeper::on_connected(const client::SessionInfo& session) {
  {
    const EngineLock lock({context_});
    if (stopped_) return;
    const Instant now = this->now();
    const bool is_other = session_id_.exchange(session.id.value) != session.id.value;
    if (const auto old = is_other ? std::exchange(lease_, nullptr) : nullptr) lapse(old);
    timeout_ = is_other ? session.timeout.count() : std::min(timeout(), session.timeout).count();
    connected_ = true;
    last_leader_answer_ = session.attempt_began;
    last_answered_ = full_again_at_ = now;
    ++connections_;
    up_to_date_since_ = Instant::max();
    evidence_.emplace(session.timeout, session.attempt_began, now);
    // The handshake set the session's timeout, which can make the lease end earlier.
    if (lease_ && lease_->limit(evidence_->handshake_lease_expiry())) watch_lease(lease_);
    send(heartbeat());
    schedule_tick();
    if (!session.is_new) notify({.kind = LeaseEvent::Kind::resumed, .session = session.id});
    assert_invariants();
  }
  deliver();
}

void LeaseKeeper::on_suspended(SessionId session) {
  {
    const EngineLock lock({context_});
    if (this->session() != session) return;
    connected_ = false;
    evidence_.reset();
    end_ticks();
    notify({.kind = LeaseEvent::Kind::suspended, .session = session});
    assert_invariants();
  }
  deliver();
}

void LeaseKeeper::on_ended(SessionId session) {
  {
    const EngineLock lock({context_});
    if (session == SessionId{} || this->session() != session) return;
    connected_ = false;
    session_id_ = 0;
    evidence_.reset();
    end_ticks();
    if (const auto lease = std::exchange(lease_, nullptr)) lapse(lease);
    notify({.kind = LeaseEvent::Kind::session_ended, .session = session});
    assert_invariants();
  }
  deliver();
}

void LeaseKeeper::on_answered(SessionId session, Instant sent_at, core::AnsweredBy by) {
  const Instant now = this->now();  // before this thread waits for the mutex
  const EngineLock lock({context_});
  if (!evidence_ || this->session() != session) return;
  const bool is_late = now - sent_at > timeout() / 24;
  if (is_late) slow_until_ = now + timeout();
  if (now - last_answered_ > timeout() / 2) full_again_at_ = now + 5 * timeout() / 12;
  last_answered_ = sent_at;
  if (by != core::AnsweredBy::server) {
    last_leader_request_ = std::max(last_leader_request_, sent_at);
    last_leader_answer_ = std::max(last_leader_answer_, sent_at);
  }
  if (by == core::AnsweredBy::quorum) {
    if (up_to_date_since_ == Instant::max()) up_to_date_since_ = sent_at;
    const bool is_low = holds_ > 0 && lease_left(now) < timeout() / 4;
    if (is_low && !lease_was_low_) ++low_leases_;
    lease_was_low_ = is_low;
    const Instant until = std::min(evidence_->lease_expiry(sent_at, now),
                                   core::LeaseEvidence::lease_expiry_after(sent_at, timeout()));
    if (!(lease_ && lease_->extend(until)) && now < until) {
      lease_ = std::make_shared<core::Lease>(session, until);
      watch_lease(lease_);
    }
  }
  evidence_->on_answered(sent_at, now, by);
  if (is_late) hurry(core::Duration{});
  assert_invariants();
}

void LeaseKeeper::stop() {
  {
    const EngineLock lock({context_});
    if (std::exchange(stopped_, true)) return;
    connected_ = false;
    evidence_.reset();
    end_ticks();
    if (const auto lease = std::exchange(lease_, nullptr)) lapse(lease);
    notify({.kind = LeaseEvent::Kind::closed});
    assert_invariants();
  }
  deliver();
}

// ---- the lease ----------------------------------------------------------------------------------

std::shared_ptr<core::Lease> LeaseKeeper::lease_for_grant(SessionId session) const {
  context_.mutex().assert_held();
  const Instant now = this->now();
  if (!lease_ || lease_->session() != session || !lease_->check(now)) return nullptr;
  const bool suffices = lease_->valid_until() >= std::max(now + 7 * timeout() / 24, full_again_at_);
  return suffices ? lease_ : nullptr;
}

void LeaseKeeper::on_lease_needed(core::Duration wait) {
  context_.mutex().assert_held();
  needed_until_ = now() + timeout() / 2;
  hurry(wait);
}

void LeaseKeeper::hold_began() {
  ++holds_;
  on_lease_needed(timeout() / 20);
}

void LeaseKeeper::hold_ended() noexcept {
  context_.mutex().assert_held();
  if (--holds_ == 0) needed_until_ = {};
}

bool LeaseKeeper::has_contact() const {
  context_.mutex().assert_held();
  return connected_ && now() - last_leader_answer_ <= timeout() / 2;
}

std::optional<core::Duration> LeaseKeeper::lease_remaining() const {
  if (holds_ == 0) return std::nullopt;
  return lease_left(now());
}

core::Duration LeaseKeeper::lease_left(Instant now) const {
  return lease_ ? std::max(lease_->valid_until(), now) - now : core::Duration{};
}

void LeaseKeeper::watch_lease(const LeasePtr& lease) {
  context_.scheduler().at(lease->valid_until(), under_lock([this, lease] { on_lease_due(lease); }));
}

void LeaseKeeper::on_lease_due(const LeasePtr& lease) {
  lease->check(now()) ? watch_lease(lease) : lapse(lease);
}

void LeaseKeeper::lapse(const LeasePtr& lease) {
  lease->lapse();
  notify({.kind = LeaseEvent::Kind::lease_expired, .lease = lease});
}

// ---- the requests -------------------------------------------------------------------------------

core::Duration LeaseKeeper::interval(Instant now) const {
  if (now < needed_until_ && lease_left(now) < timeout() / 3) return timeout() / 20;
  if (holds_ > 0 || now < slow_until_) return timeout() / 10;
  return 7 * timeout() / 24;
}

void LeaseKeeper::schedule_tick(std::optional<core::Duration> wait) {
  if (!connected_) return;
  const Instant now = this->now();
  Instant next = now + wait.value_or(timeout() / 20);
  if (wait && tick_at_ > now) next = std::min(next, tick_at_);
  const core::Duration interval = this->interval(now);
  tick_is_postponed_ = !wait && interval > timeout() / 10;
  if (tick_is_postponed_) next = std::max(now + timeout() / 40, last_leader_request_ + interval);
  end_ticks();
  tick_at_ = next;
  tick_timer_ = context_.scheduler().at(next, under_lock([this, of = session()] { tick(of); }));
}

void LeaseKeeper::end_ticks() noexcept {
  context_.scheduler().cancel(std::exchange(tick_timer_, {}));
}

void LeaseKeeper::hurry(core::Duration wait) {
  if (std::exchange(tick_is_postponed_, false)) schedule_tick(wait);
}

void LeaseKeeper::tick(SessionId session) {
  if (!evidence_ || this->session() != session) return;
  const Instant now = this->now();
  // Half a tick of slack. Without it, an early tick would delay the request by a whole tick.
  const bool is_due = last_leader_request_ + interval(now) <= now + timeout() / 40;
  const bool is_heartbeat = holds_ > 0 && lease_left(now) < 11 * timeout() / 24;
  if (is_due) send(is_heartbeat ? heartbeat() : sync());
  schedule_tick();
  const auto is_tick = [](const LeaseEvent& e) { return e.kind == LeaseEvent::Kind::tick; };
  if (std::ranges::any_of(events_, is_tick)) return;  // the last tick still goes on
  notify({.kind = LeaseEvent::Kind::tick, .requests = kMostRequestsAtATick, .tick = ++ticks_});
}

void LeaseKeeper::send(client::Operation operation) {
  last_leader_request_ = now();
  context_.coordinator().submit({.operation = std::move(operation), .session = session()},
                                under_lock([this](const client::Reply& reply) {
                                  if (is_unanswered(reply.status)) ++heartbeat_failures_;
                                }));
}

// ---- the members --------------------------------------------------------------------------------

void LeaseKeeper::enlist(LeaseObserver& member) noexcept {
  context_.mutex().assert_held();
  if (!member.is_enlisted()) members_.push_back(member);
}

void LeaseKeeper::dismiss(LeaseObserver& member) noexcept {
  if (!member.is_enlisted()) return;
  context_.mutex().assert_held();
  const auto place = members_.iterator_to(member);
  if (!events_.empty() && next_ == place) ++next_;
  members_.erase(place);
}

void LeaseKeeper::notify(LeaseEvent event) {
  if (members_.empty()) return;
  if (events_.empty()) next_ = members_.begin();
  events_.push_back(std::move(event));
}

// Several threads can do this at the same time: each takes the next slice.
void LeaseKeeper::deliver() {
  for (;;) {
    {
      const EngineLock lock({context_});
      if (!deliver_slice()) return;
    }
    std::this_thread::yield();  // or this thread could lock the mutex before a waiting one wakes
  }
}

bool LeaseKeeper::deliver_slice() {
  if (events_.empty()) return false;
  LeaseEvent& event = events_.front();
  for (int left = kSlice; left > 0 && next_ != members_.end(); --left) {
    LeaseObserver& member = *next_++;
    member.on_lease_event(event);
  }
  if (next_ != members_.end()) return true;
  const bool tick_goes_on = event.kind == LeaseEvent::Kind::tick && event.requests <= 0;
  events_.pop_front();
  next_ = members_.begin();
  if (tick_goes_on) hurry(timeout() / 20);  // for the other members
  return !events_.empty();
}

}  // namespace zklock::detail
