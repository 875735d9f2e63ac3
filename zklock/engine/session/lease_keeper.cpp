// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/lease_keeper.h"

#include <algorithm>
#include <cassert>
#include <utility>

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

/// The limit of requests that waiting lock nodes send at one tick. Later requests, above all the
/// next heartbeat, must not wait for the watches of thousands of lock nodes.
constexpr int kMostRequestsAtATick = 500;

bool is_unanswered(core::Status status) noexcept {
  const core::StatusSort sort = core::sort_of(status);
  return sort == core::StatusSort::outcome_unknown || sort == core::StatusSort::unsent;
}

}  // namespace

LeaseKeeper::LeaseKeeper(client::Coordinator& coordinator, client::Scheduler& scheduler)
    : coordinator_(coordinator), scheduler_(scheduler) {}

void LeaseKeeper::assert_invariants() const {
  assert(connected_ == evidence_.has_value());
  assert(connected_ || tick_timer_ == client::TimerId{});
  assert(!lease_ || lease_->session() == session());
  assert(!stopped_ || (!connected_ && !lease_));
}

void LeaseKeeper::on_connected(const client::SessionInfo& session) {
  const Instant now = scheduler_.now();
  LeasePtr old;
  LeasePtr shortened;
  {
    const client::MutexLock guard(mutex_);
    if (stopped_) return;
    shortest_timeout_ = std::min(shortest_timeout_, session.timeout);
    if (session_id_.load() != session.id.value) {
      old = std::exchange(lease_, nullptr);
      shortest_timeout_ = session.timeout;
    }
    session_id_ = session.id.value;
    timeout_ = shortest_timeout_.count();
    connected_ = true;
    last_leader_answer_ = session.attempt_began;
    last_answered_ = now;
    full_again_at_ = now;
    ++connections_;
    up_to_date_since_ = Instant::max();
    evidence_.emplace(session.timeout, session.attempt_began, now);
    // The handshake gave the session this connection's timeout, even if it makes the end earlier.
    if (lease_ && lease_->limit(evidence_->handshake_lease_expiry())) shortened = lease_;
    assert_invariants();
  }
  if (old) lapse_and_notify(old);
  if (shortened) watch_lease(shortened);
  send(heartbeat(), session.id);
  schedule_tick(session.id);
  if (session.is_new) return;
  for (const auto& member : members()) member->on_resumed(session.id);
}

void LeaseKeeper::on_suspended(SessionId session) {
  {
    const client::MutexLock guard(mutex_);
    if (session_id_.load() != session.value) return;
    connected_ = false;
    evidence_.reset();
    scheduler_.cancel(std::exchange(tick_timer_, {}));
    assert_invariants();
  }
  for (const auto& member : members()) member->on_suspended(session);
}

void LeaseKeeper::on_ended(SessionId session) {
  LeasePtr lease;
  {
    const client::MutexLock guard(mutex_);
    if (session == SessionId{} || session_id_.load() != session.value) return;
    connected_ = false;
    session_id_ = 0;
    evidence_.reset();
    scheduler_.cancel(std::exchange(tick_timer_, {}));
    lease = std::exchange(lease_, nullptr);
    assert_invariants();
  }
  if (lease) lapse_and_notify(lease);
  for (const auto& member : members()) member->on_session_ended(session);
}

void LeaseKeeper::on_answered(SessionId session, Instant sent_at, core::AnsweredBy by) {
  const Instant now = scheduler_.now();
  LeasePtr begun;
  bool is_late = false;
  {
    const client::MutexLock guard(mutex_);
    if (!evidence_ || session_id_.load() != session.value) return;
    is_late = now - sent_at > timeout() / 24;
    if (is_late) slow_until_ = now + timeout();
    if (now - last_answered_ > timeout() / 2) full_again_at_ = now + 5 * timeout() / 12;
    last_answered_ = sent_at;
    if (by != core::AnsweredBy::server) {
      last_leader_request_ = std::max(last_leader_request_, sent_at);
      last_leader_answer_ = std::max(last_leader_answer_, sent_at);
    }
    if (by == core::AnsweredBy::quorum) {
      if (up_to_date_since_.load() == Instant::max()) up_to_date_since_ = sent_at;
      const bool is_low = heartbeat_demands_ > 0 && lease_left(now) < timeout() / 4;
      if (is_low && !lease_was_low_) ++low_leases_;
      lease_was_low_ = is_low;
      const Instant until =
          std::min(evidence_->lease_expiry(sent_at, now),
                   core::LeaseEvidence::lease_expiry_after(sent_at, shortest_timeout_));
      if (!(lease_ && lease_->extend(until)) && now < until) {
        begun = lease_ = std::make_shared<core::Lease>(session, until);
      }
    }
    evidence_->on_answered(sent_at, now, by);
    assert_invariants();
  }
  if (begun) watch_lease(begun);
  if (is_late) hurry(core::Duration{});
}

std::shared_ptr<core::Lease> LeaseKeeper::lease_for_grant(SessionId session) {
  const client::MutexLock guard(mutex_);
  if (!lease_ || lease_->session() != session || !suffices_for_grant(*lease_)) return nullptr;
  return lease_;
}

bool LeaseKeeper::suffices_for_grant(core::Lease& lease) const {
  const Instant now = scheduler_.now();
  if (!lease.check(now)) return false;
  return lease.valid_until() >= std::max(now + 7 * timeout() / 24, full_again_at_.load());
}

void LeaseKeeper::on_lease_needed(core::Duration wait) {
  needed_until_ = scheduler_.now() + timeout() / 2;
  hurry(wait);
}

bool LeaseKeeper::has_contact() const {
  const client::MutexLock guard(mutex_);
  return connected_ && scheduler_.now() - last_leader_answer_ <= timeout() / 2;
}

void LeaseKeeper::enlist(LeaseObserver& member) noexcept {
  const client::MutexLock guard(mutex_);
  if (!member.member_hook_.is_linked()) members_.push_back(member);
}

void LeaseKeeper::dismiss(LeaseObserver& member) noexcept {
  const client::MutexLock guard(mutex_);
  if (member.member_hook_.is_linked()) members_.erase(members_.iterator_to(member));
}

LeaseKeeper::Members LeaseKeeper::members() const {
  Members alive;  // destroyed after the guard: a member's destructor locks the mutex
  if (!is_used()) return alive;
  const client::MutexLock guard(mutex_);
  alive.reserve(members_.size());
  for (LeaseObserver& each : members_) {
    if (auto member = each.shared_if_alive()) alive.push_back(std::move(member));
  }
  return alive;
}

std::optional<core::Duration> LeaseKeeper::lease_remaining() const {
  if (heartbeat_demands_ == 0) return std::nullopt;
  const client::MutexLock guard(mutex_);
  return lease_left(scheduler_.now());
}

core::Duration LeaseKeeper::lease_left(Instant now) const {
  return lease_ ? std::max(lease_->valid_until(), now) - now : core::Duration{};
}

core::Duration LeaseKeeper::interval(Instant now) const {
  if (now < needed_until_.load() && lease_left(now) < timeout() / 3) return timeout() / 20;
  if (heartbeat_demands_ > 0 || now < slow_until_) return timeout() / 10;
  return 7 * timeout() / 24;
}

void LeaseKeeper::schedule_tick(SessionId session, std::optional<core::Duration> wait) {
  const client::MutexLock guard(mutex_);
  if (stopped_ || !connected_ || session_id_.load() != session.value) return;
  const Instant now = scheduler_.now();
  Instant next = now + wait.value_or(timeout() / 20);
  if (wait && tick_at_ > now) next = std::min(next, tick_at_);
  tick_is_postponed_ = true;  // first: a HeartbeatDemand that begins from now on calls hurry()
  const core::Duration interval = this->interval(now);
  if (wait || interval <= timeout() / 10) {
    tick_is_postponed_ = false;
  } else {
    next = std::max(now + timeout() / 40, last_leader_request_ + interval);
  }
  tick_at_ = next;
  const client::TimerId timer = scheduler_.at(next, [self = weak_from_this(), session] {
    if (const auto keeper = self.lock()) keeper->tick(session);
  });
  scheduler_.cancel(std::exchange(tick_timer_, timer));
}

void LeaseKeeper::hurry(core::Duration wait) {
  if (tick_is_postponed_.exchange(false)) schedule_tick(session(), wait);
}

void LeaseKeeper::tick(SessionId session) {
  const Instant now = scheduler_.now();
  bool is_due = false;
  bool is_heartbeat = false;
  {
    const client::MutexLock guard(mutex_);
    if (!evidence_ || session_id_.load() != session.value) return;
    // Half a tick of slack. Without it, an early tick would delay the request by a whole tick.
    is_due = last_leader_request_ + interval(now) <= now + timeout() / 40;
    is_heartbeat = heartbeat_demands_ > 0 && lease_left(now) < 11 * timeout() / 24;
  }
  if (is_due) send(is_heartbeat ? heartbeat() : sync(), session);
  schedule_tick(session);
  int requests = kMostRequestsAtATick;
  for (const auto& member : members()) member->on_tick(requests);
  if (requests <= 0) hurry(timeout() / 20);  // for the other members
}

void LeaseKeeper::send(client::Operation operation, SessionId session) {
  {
    const client::MutexLock guard(mutex_);
    if (stopped_) return;
    last_leader_request_ = scheduler_.now();
  }
  coordinator_.submit({.operation = std::move(operation), .session = session},
                      [self = weak_from_this()](const client::Reply& reply) {
                        const auto keeper = self.lock();
                        if (keeper && is_unanswered(reply.status)) ++keeper->heartbeat_failures_;
                      });
}

void LeaseKeeper::watch_lease(const LeasePtr& lease) {
  scheduler_.at(lease->valid_until(), [self = weak_from_this(), lease] {
    if (const auto keeper = self.lock()) keeper->on_lease_due(lease);
  });
}

void LeaseKeeper::on_lease_due(const LeasePtr& lease) {
  if (lease->check(scheduler_.now())) {
    watch_lease(lease);
  } else {
    lapse_and_notify(lease);
  }
}

void LeaseKeeper::lapse_and_notify(const LeasePtr& lease) {
  lease->lapse();
  for (const auto& member : members()) member->on_lease_expired(lease);
}

void LeaseKeeper::stop() {
  LeasePtr lease;
  {
    const client::MutexLock guard(mutex_);
    if (std::exchange(stopped_, true)) return;
    connected_ = false;
    evidence_.reset();
    scheduler_.cancel(std::exchange(tick_timer_, {}));
    lease = std::exchange(lease_, nullptr);
    assert_invariants();
  }
  if (lease) lapse_and_notify(lease);
}

}  // namespace zklock::detail
