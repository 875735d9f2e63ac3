// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/session/lease_keeper.h"

#include <algorithm>
#include <cassert>
#include <new>
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

}  // namespace

LeaseKeeper::LeaseKeeper(client::Coordinator& coordinator, client::Scheduler& scheduler)
    : coordinator_(coordinator), scheduler_(scheduler) {}

void LeaseKeeper::assert_invariants() const {
  assert(connected_ == evidence_.has_value());
  assert(connected_ || tick_timer_ == client::TimerId{});
  assert(!lease_ || lease_->session() == session());
  assert(!stopped_ || (!connected_ && !lease_));
}

void LeaseKeeper::connected(const client::SessionInfo& session) {
  const Instant now = scheduler_.now();
  Term old;
  Term shortened;
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
    heartbeat_is_outstanding_ = false;
    last_contact_ = session.attempt_began;
    ++connections_;
    evidence_.emplace(session.timeout, session.attempt_began, now);
    // The handshake gave the session this connection's timeout, even if it makes the end earlier.
    if (lease_ && lease_->limit(evidence_->lease_of_handshake())) shortened = lease_;
    assert_invariants();
  }
  if (old) tell_lapsed(old);
  if (shortened) watch_lease(shortened);
  send(true, session.id);
  schedule_tick(session.id);
  if (session.is_new) return;
  for (const auto& member : members()) member->resumed(session.id);
}

void LeaseKeeper::suspended(SessionId session) {
  {
    const client::MutexLock guard(mutex_);
    if (session_id_.load() != session.value) return;
    connected_ = false;
    evidence_.reset();
    scheduler_.cancel(std::exchange(tick_timer_, {}));
    assert_invariants();
  }
  for (const auto& member : members()) member->suspended(session);
}

void LeaseKeeper::ended(SessionId session) {
  Term lease;
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
  if (lease) tell_lapsed(lease);
  for (const auto& member : members()) member->session_ended(session);
}

void LeaseKeeper::answered(SessionId session, Instant sent_at, core::AnsweredBy by) {
  const Instant now = scheduler_.now();
  Term begun;
  {
    const client::MutexLock guard(mutex_);
    if (!evidence_ || session_id_.load() != session.value) return;
    if (now - sent_at > timeout() / 24) note_late_answer(sent_at, now);
    if (by != core::AnsweredBy::server) {
      last_request_ = std::max(last_request_, sent_at);
      last_contact_ = std::max(last_contact_, sent_at);
    }
    if (by == core::AnsweredBy::quorum) {
      const Instant until = std::min(evidence_->lease(sent_at, now),
                                     sent_at + shortest_timeout_ - shortest_timeout_ / 12);
      if (!(lease_ && lease_->extend(until)) && now < until) {
        begun = lease_ = std::make_shared<core::Lease>(session, until);
      }
    }
    evidence_->answered(sent_at, now, by);
    assert_invariants();
  }
  if (begun) watch_lease(begun);
}

std::shared_ptr<core::Lease> LeaseKeeper::lease_for_grant(SessionId session) {
  const client::MutexLock guard(mutex_);
  if (!lease_ || lease_->session() != session || !suffices_for_grant(*lease_)) return nullptr;
  return lease_;
}

bool LeaseKeeper::suffices_for_grant(core::Lease& lease) const {
  const Instant now = scheduler_.now();
  return lease.check(now) && lease.valid_until() >= now + timeout() / 6;
}

bool LeaseKeeper::has_contact() const {
  const client::MutexLock guard(mutex_);
  return connected_ && scheduler_.now() - last_contact_ <= timeout() / 2;
}

void LeaseKeeper::begin_use() noexcept {
  ++uses_;
  if (!is_resting_.exchange(false)) return;
  const client::MutexLock guard(mutex_);
  try {
    set_timer(session());
  } catch (const std::bad_alloc&) {  // the next tick comes after T/4, as without this use
  }
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
    if (auto member = each.alive()) alive.push_back(std::move(member));
  }
  return alive;
}

LeaseKeeper::NextRequest LeaseKeeper::next_request(Instant now) const {
  const core::Duration t = timeout();
  if (is_used() && now < slow_until_) {
    const bool is_held = holders_ > 0;
    return {(is_held ? last_heartbeat_ : last_request_) + t / 10, is_held};
  }
  const Instant sync_at = last_request_ + t / 4;
  if (holders_ == 0 || heartbeat_is_outstanding_) return {sync_at, false};
  Instant heartbeat_at = std::max(last_heartbeat_ + t / 12, evidence_->regular_from());
  if (lease_ && lease_->check(now)) {
    heartbeat_at = std::max(heartbeat_at, lease_->valid_until() - 5 * t / 12);
  }
  if (last_request_ < heartbeat_at - t / 10 && now < heartbeat_at - t / 24) {
    return {std::min(sync_at, heartbeat_at - t / 12), false};
  }
  return {heartbeat_at, true};
}

void LeaseKeeper::schedule_tick(SessionId session) {
  const client::MutexLock guard(mutex_);
  set_timer(session);
}

void LeaseKeeper::set_timer(SessionId session) {
  if (stopped_ || !evidence_ || session_id_.load() != session.value) return;
  const Instant now = scheduler_.now();
  is_resting_ = true;  // first: a use that begins meanwhile sets the timer again
  if (is_used()) is_resting_ = false;
  Instant when = next_request(now).at;
  if (!is_resting_) when = std::min(when, now + timeout() / 20);
  const client::TimerId old = tick_timer_;
  tick_timer_ = scheduler_.at(when, [self = weak_from_this(), session] {
    if (const auto keeper = self.lock()) keeper->tick(session);
  });
  scheduler_.cancel(old);
}

void LeaseKeeper::tick(SessionId session) {
  const Instant now = scheduler_.now();
  NextRequest next;
  {
    const client::MutexLock guard(mutex_);
    if (!evidence_ || session_id_.load() != session.value) return;
    next = next_request(now);
  }
  if (next.at <= now) send(next.is_heartbeat, session);
  schedule_tick(session);
  int requests = kMostRequestsAtATick;
  for (const auto& member : members()) member->tick(requests);
}

void LeaseKeeper::send(bool is_heartbeat, SessionId session) {
  {
    const client::MutexLock guard(mutex_);
    if (stopped_) return;
    last_request_ = scheduler_.now();
    if (is_heartbeat) {
      last_heartbeat_ = last_request_;
      heartbeat_is_outstanding_ = true;
    }
  }
  coordinator_.submit({.operation = is_heartbeat ? heartbeat() : sync(), .session = session},
                      [self = weak_from_this(), is_heartbeat, session](const client::Reply& reply) {
                        const bool by_leader = reply.status != core::Status::throttled;
                        const auto keeper = is_heartbeat || !by_leader ? self.lock() : nullptr;
                        if (keeper) keeper->on_answer(session, is_heartbeat, by_leader);
                      });
}

void LeaseKeeper::on_answer(SessionId session, bool is_heartbeat, bool by_leader) {
  const client::MutexLock guard(mutex_);
  if (session_id_.load() != session.value) return;
  if (is_heartbeat) heartbeat_is_outstanding_ = false;
  if (!by_leader) last_request_ -= timeout() / 6;  // sent again after T/12
  set_timer(session);
}

// A single late answer can be a pause, which ends. After the second, the network is slow.
void LeaseKeeper::note_late_answer(Instant sent, Instant now) {
  const bool is_first = now - last_late_answer_ > timeout();
  if (!is_first && sent < last_late_answer_) return;  // of the same pause
  if (!is_first) slow_until_ = now + timeout();
  last_late_answer_ = now;
}

void LeaseKeeper::watch_lease(const Term& lease) {
  scheduler_.at(lease->valid_until(), [self = weak_from_this(), lease] {
    if (const auto keeper = self.lock()) keeper->on_lease_due(lease);
  });
}

void LeaseKeeper::on_lease_due(const Term& lease) {
  if (lease->check(scheduler_.now())) {
    watch_lease(lease);
  } else {
    tell_lapsed(lease);
  }
}

void LeaseKeeper::tell_lapsed(const Term& lease) {
  lease->lapse();
  for (const auto& member : members()) member->on_lease_expired(lease);
}

void LeaseKeeper::stop() {
  Term lease;
  {
    const client::MutexLock guard(mutex_);
    if (std::exchange(stopped_, true)) return;
    connected_ = false;
    evidence_.reset();
    scheduler_.cancel(std::exchange(tick_timer_, {}));
    lease = std::exchange(lease_, nullptr);
    assert_invariants();
  }
  if (lease) tell_lapsed(lease);
}

}  // namespace zklock::detail
