// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/contender.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "zklock/core/node_name.h"

namespace zklock::recipes {

using core::Ownership;

Contender::Contender(std::shared_ptr<LockEngine> engine, Owner key, const Requester& requester,
                     core::AcquireFsm::Policy policy, LockAudience audience,
                     std::shared_ptr<LocalQueue> local)
    : engine_(std::move(engine)),
      key_(key),
      owner_(requester.owner),
      local_(std::move(local)),
      audience_(std::move(audience)),
      waits_(policy.wait) {
  if (local_) return;
  place_ = std::make_shared<Place>(engine_, requester, std::move(policy));
}

Contender::~Contender() = default;

void Contender::start(const Requester& requester) {
  if (local_) return local_->begin(shared_from_this(), requester);
  place_->enter(shared_from_this());
  place_->start();
}

void Contender::stands_in(std::shared_ptr<Place> place) {
  place_ = std::move(place);
  place_->enter(shared_from_this());
}

const core::AcquireFsm::Policy& Contender::policy() const noexcept {
  return local_ ? local_->policy() : place_->policy();
}

void Contender::waits_at(std::size_t position) {
  const FencingToken token = place_->at_gate() ? FencingToken{} : place_->token();
  tell_event(LockEvent::Kind::waiting, token, position);
}

void Contender::tell_event(LockEvent::Kind kind, FencingToken token,
                           std::size_t position) const noexcept {
  if (!is_heard()) return;
  try {
    audience_->line->tell({.kind = kind,
                           .path = engine_->path().str(),
                           .owner = owner_,
                           .token = token,
                           .position = position,
                           .place = audience_->place});
  } catch (...) {  // no thread or memory: delivered with the next event
  }
}

std::optional<Error> Contender::refusal(core::CountKind kind) const {
  if (ownership_.state() == Ownership::State::lost ||
      ownership_.state() == Ownership::State::over) {
    return error(Errc::lock_lost, "this owner's earlier hold was lost; unlock it first");
  }
  // If a second owner that holds the lock shared did this too, each would wait for the other.
  const bool has_place = policy().rule.access != Access::shared;
  const bool keeps_it =
      ownership_.state() == Ownership::State::waiting || ownership_.exclusive_count() > 0;
  if (core::is_shared(kind) || (has_place && keeps_it)) return std::nullopt;
  return error(Errc::would_deadlock, "this owner has the lock shared; unlock that first");
}

void Contender::join(const std::shared_ptr<AcquireCall>& call) {
  const bool held = holds_validly();
  if (auto refused = refusal(call->kind())) {
    call->complete({.error = std::move(refused)});
    return;
  }
  if (held) {
    if (call->complete({.contender = shared_from_this()})) ownership_.add(call->kind());
    return;
  }
  if (waits_ && !call->waits()) {
    call->complete({});
    return;
  }
  call->arm(waits_);
  calls_.push_back(call);
}

void Contender::sweep() {
  for (std::size_t i = calls_.size(); i-- > 0;) {
    if (!calls_[i]->has_ended()) continue;
    calls_[i]->disarm();
    calls_.erase(calls_.begin() + i);
  }
  if (calls_.empty()) give_up();
}

void Contender::leave_all(const void* on_behalf) {
  for (const auto& call : calls_) {
    if (call->on_behalf() == on_behalf) call->complete(closed());
  }
  sweep();
}

void Contender::fail(Errc code, const std::string& cause) {
  if (ownership_.state() != Ownership::State::waiting) return;
  complete_all(code, cause);
  give_up();
}

Outcome Contender::closed() const {
  return {.error = error(Errc::closed, core().closed() ? std::string_view{}
                                                       : "the mutex was destroyed meanwhile")};
}

void Contender::give_up() {
  if (ownership_.state() != Ownership::State::waiting) return;
  const auto self = shared_from_this();
  depart();
  if (local_ && local_->leave(*this)) return;
  place_->give_up();
}

// No call waits any more. The place may still have to find out whether it has a znode.
void Contender::depart() {
  ownership_.withdraw();
  engine_->forget(*this);
}

void Contender::drop_calls() noexcept {
  for (const auto& call : calls_) call->disarm();
  calls_.clear();
}

void Contender::attempt_ended() {
  if (ownership_.state() != Ownership::State::waiting) return;
  const auto self = shared_from_this();
  depart();
  // A single attempt has failed. Calls of this owner that joined meanwhile and can wait get a new
  // contender.
  Calls calls = std::exchange(calls_, {});
  std::shared_ptr<Contender> next;
  for (const auto& call : calls) {
    if (waits_ || call->has_ended() || call->has_passed(core().scheduler().now())) {
      call->complete({});
      continue;
    }
    if (!next) {
      core::AcquireFsm::Policy patient = policy();
      patient.rule = rule_for(calls);
      patient.gate = call->terms().gate;
      patient.wait = true;
      patient.lists = static_cast<bool>(call->terms().audience);
      // With a gate, or as a reader among writers, it needs a place of its own.
      const bool shares = !call->terms().gate && patient.rule == policy().rule;
      next = engine_->begin(key_, Requester::of_this_thread(owner_), patient,
                            call->terms().audience, shares ? local_ : nullptr);
    }
    next->join(call);
  }
  if (next) next->start(Requester::of_this_thread(owner_));
}

// The contender was to write, but the calls that remain may only read: then it queues as a reader.
core::QueueRule Contender::rule_for(const Calls& calls) const {
  const core::Instant now = core().scheduler().now();
  const bool writes = std::ranges::any_of(calls, [now](const auto& call) {
    return !core::is_shared(call->kind()) && !call->has_ended() && !call->has_passed(now);
  });
  return writes ? place_->rule() : core::QueueRule::reader();
}

void Contender::failed(Errc code, const std::string& cause) {
  complete_all(code, cause);
  if (local_) local_->failed(*place_, code, cause);
  if (place_->over() || ownership_.state() != Ownership::State::waiting) return;
  depart();
  place_->leave();
}

void Contender::connection_timed_out(const std::string& cause) {
  Calls waiting;
  for (auto& call : std::exchange(calls_, {})) {
    if (call->is_endless()) {
      call->complete({.error = error(Errc::not_connected, cause)});
    } else {
      waiting.push_back(std::move(call));
    }
  }
  calls_ = std::move(waiting);
  if (calls_.empty()) give_up();
}

void Contender::refused(Errc code, const std::string& cause) {
  complete_all(code, cause);
  depart();
}

void Contender::complete_all(Errc code, const std::string& cause) {
  for (const auto& call : std::exchange(calls_, {})) call->complete({.error = error(code, cause)});
}

Error Contender::error(Errc code, std::string_view cause) const {
  return Error(code, "lock", engine_->path().str(), cause);
}

}  // namespace zklock::recipes
