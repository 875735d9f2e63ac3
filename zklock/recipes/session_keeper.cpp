// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/session_keeper.h"

#include <algorithm>
#include <utility>

namespace zklock::recipes {

namespace {

/// A quorum operation, whatever its status is.
client::Operation heartbeat() {
  return client::request::Check{"/"};
}

/// A small request that the client's server answers without the quorum.
client::Operation question() {
  return client::request::CountChildren{"/"};
}

/// The limit of requests that waiting members send at one tick. Later requests, above all the next
/// heartbeat, must not wait for the watches of thousands of members.
constexpr int most_requests_at_a_tick = 500;

}  // namespace

SessionKeeper::SessionKeeper(client::Coordinator& coordinator, client::Scheduler& scheduler)
    : coordinator_(coordinator), scheduler_(scheduler) {}

void SessionKeeper::connected(const client::SessionInfo& session) {
  const Instant now = scheduler_.now();
  Term old;
  Term shortened;
  {
    const std::lock_guard guard(mutex_);
    if (stopped_) return;
    shortest_timeout_ = std::min(shortest_timeout_, session.timeout);
    if (session_id_.load() != session.id.value) {
      old = std::exchange(term_, nullptr);
      shortest_timeout_ = session.timeout;
    }
    session_id_ = session.id.value;
    timeout_ = session.timeout.count();
    connected_ = true;
    ++connections_;
    evidence_.emplace(session.timeout, session.attempt_began, now);
    // The handshake gave the session this connection's timeout, even if it makes the end earlier.
    if (term_ && term_->limit(evidence_->lease_of_handshake())) shortened = term_;
  }
  if (old) tell_lapsed(old);
  if (shortened) watch_term(shortened);
  send(heartbeat(), session.id, now);
  schedule_tick(session.id);
  if (session.is_new) return;
  for (const auto& member : members()) member->resumed(session.id);
}

void SessionKeeper::suspended(SessionId session) {
  {
    const std::lock_guard guard(mutex_);
    if (session_id_.load() != session.value) return;
    connected_ = false;
    evidence_.reset();
    scheduler_.cancel(std::exchange(tick_timer_, {}));
  }
  for (const auto& member : members()) member->suspended(session);
}

void SessionKeeper::ended(SessionId session) {
  Term term;
  {
    const std::lock_guard guard(mutex_);
    if (session == SessionId{} || session_id_.load() != session.value) return;
    connected_ = false;
    session_id_ = 0;
    evidence_.reset();
    scheduler_.cancel(std::exchange(tick_timer_, {}));
    term = std::exchange(term_, nullptr);
  }
  if (term) tell_lapsed(term);
  for (const auto& member : members()) member->session_ended(session);
}

void SessionKeeper::answered(SessionId session, Instant sent_at, bool by_quorum) {
  const Instant now = scheduler_.now();
  Term begun;
  {
    const std::lock_guard guard(mutex_);
    if (!evidence_ || session_id_.load() != session.value) return;
    if (by_quorum) {
      const Instant until = std::min(evidence_->lease(sent_at, now),
                                     sent_at + shortest_timeout_ - shortest_timeout_ / 12);
      if (!(term_ && term_->extend(until)) && now < until) {
        begun = term_ = std::make_shared<core::LeaseTerm>(session, until);
      }
    }
    evidence_->answered(sent_at, now, by_quorum);
  }
  if (begun) watch_term(begun);
}

std::shared_ptr<core::LeaseTerm> SessionKeeper::valid_term(SessionId session) {
  const Instant now = scheduler_.now();
  const std::lock_guard guard(mutex_);
  if (!term_ || term_->session() != session || !term_->valid(now)) return nullptr;
  return term_;
}

void SessionKeeper::enlist(SessionMember& member) noexcept {
  const std::lock_guard guard(mutex_);
  if (!member.place_in_line_.is_linked()) members_.push_back(member);
}

void SessionKeeper::dismiss(SessionMember& member) noexcept {
  const std::lock_guard guard(mutex_);
  if (member.place_in_line_.is_linked()) members_.erase(members_.iterator_to(member));
}

bool SessionKeeper::deserted() const {
  const std::lock_guard guard(mutex_);
  return members_.empty();
}

SessionKeeper::Members SessionKeeper::members() const {
  Members alive;  // destroyed after the guard: a member's destructor locks the mutex
  const std::lock_guard guard(mutex_);
  alive.reserve(members_.size());
  for (SessionMember& each : members_) {
    if (auto member = each.alive()) alive.push_back(std::move(member));
  }
  return alive;
}

void SessionKeeper::schedule_tick(SessionId session) {
  const std::lock_guard guard(mutex_);
  if (stopped_ || !connected_ || session_id_.load() != session.value) return;
  scheduler_.cancel(tick_timer_);
  tick_timer_ =
      scheduler_.at(scheduler_.now() + timeout() / 20, [self = weak_from_this(), session] {
        if (const auto keeper = self.lock()) keeper->tick(session);
      });
}

void SessionKeeper::tick(SessionId session) {
  const Instant now = scheduler_.now();
  bool wanted = false;
  bool due = false;
  {
    const std::lock_guard guard(mutex_);
    if (!evidence_ || session_id_.load() != session.value) return;
    wanted = !members_.empty();
    // Half a tick of slack. Without it, an early tick would delay the request by a whole tick.
    due = now - last_sent_ >= timeout() / (wanted ? 10 : 5) - timeout() / 40;
  }
  if (due) send(wanted ? heartbeat() : question(), session, now);
  schedule_tick(session);
  int requests = most_requests_at_a_tick;
  for (const auto& member : members()) member->tick(requests);
}

void SessionKeeper::send(client::Operation operation, SessionId session, Instant now) {
  {
    const std::lock_guard guard(mutex_);
    if (stopped_) return;
    last_sent_ = now;
  }
  coordinator_.submit({.operation = std::move(operation), .session = session},
                      [](const client::Reply&) {});
}

void SessionKeeper::watch_term(const Term& term) {
  scheduler_.at(term->valid_until(), [self = weak_from_this(), term] {
    if (const auto keeper = self.lock()) keeper->term_due(term);
  });
}

void SessionKeeper::term_due(const Term& term) {
  if (term->valid(scheduler_.now())) {
    watch_term(term);
  } else {
    tell_lapsed(term);
  }
}

void SessionKeeper::tell_lapsed(const Term& term) {
  term->lapse();
  for (const auto& member : members()) member->term_lapsed(term);
}

void SessionKeeper::stop() {
  Term term;
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(stopped_, true)) return;
    connected_ = false;
    evidence_.reset();
    scheduler_.cancel(std::exchange(tick_timer_, {}));
    term = std::exchange(term_, nullptr);
  }
  if (term) tell_lapsed(term);
}

}  // namespace zklock::recipes
