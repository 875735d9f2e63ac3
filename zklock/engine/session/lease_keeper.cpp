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
    timeout_ = session.timeout.count();
    connected_ = true;
    ++connections_;
    evidence_.emplace(session.timeout, session.attempt_began, now);
    // The handshake gave the session this connection's timeout, even if it makes the end earlier.
    if (lease_ && lease_->limit(evidence_->lease_of_handshake())) shortened = lease_;
    assert_invariants();
  }
  if (old) tell_lapsed(old);
  if (shortened) watch_lease(shortened);
  send(heartbeat(), session.id, now);
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

std::shared_ptr<core::Lease> LeaseKeeper::valid_lease(SessionId session) {
  const Instant now = scheduler_.now();
  const client::MutexLock guard(mutex_);
  if (!lease_ || lease_->session() != session || !lease_->check(now)) return nullptr;
  return lease_;
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

void LeaseKeeper::schedule_tick(SessionId session) {
  const client::MutexLock guard(mutex_);
  if (stopped_ || !connected_ || session_id_.load() != session.value) return;
  scheduler_.cancel(tick_timer_);
  tick_timer_ =
      scheduler_.at(scheduler_.now() + timeout() / 20, [self = weak_from_this(), session] {
        if (const auto keeper = self.lock()) keeper->tick(session);
      });
}

void LeaseKeeper::tick(SessionId session) {
  const Instant now = scheduler_.now();
  bool request = false;
  bool due = false;
  {
    const client::MutexLock guard(mutex_);
    if (!evidence_ || session_id_.load() != session.value) return;
    request = is_used();
    // Half a tick of slack. Without it, an early tick would delay the request by a whole tick.
    due = now - last_sent_ >= timeout() / (request ? 10 : 5) - timeout() / 40;
  }
  if (due) send(request ? heartbeat() : sync(), session, now);
  schedule_tick(session);
  int requests = kMostRequestsAtATick;
  for (const auto& member : members()) member->tick(requests);
}

void LeaseKeeper::send(client::Operation operation, SessionId session, Instant now) {
  {
    const client::MutexLock guard(mutex_);
    if (stopped_) return;
    last_sent_ = now;
  }
  coordinator_.submit({.operation = std::move(operation), .session = session},
                      [](const client::Reply&) {});
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
