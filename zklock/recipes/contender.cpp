// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/contender.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "zklock/core/node_name.h"
#include "zklock/recipes/round_trip.h"

namespace zklock::recipes {

using core::Ownership;

Contender::Contender(std::shared_ptr<LockEngine> engine, Owner key, Owner owner,
                     core::AcquireFsm::Policy policy, LockAudience audience,
                     std::shared_ptr<LocalQueue> local)
    : engine_(std::move(engine)),
      key_(key),
      owner_(owner),
      local_(std::move(local)),
      audience_(std::move(audience)),
      waits_(policy.wait) {
  if (local_) return;
  place_ = std::make_shared<Place>(engine_, Requester::of_this_thread(owner), std::move(policy));
}

Contender::~Contender() = default;

void Contender::start() {
  if (local_) return local_->begin(shared_from_this());
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
  } catch (...) {  // no thread, no memory: it is told with the next one
  }
}

std::optional<Error> Contender::refusal(core::CountKind kind) const {
  if (ownership_.state() == Ownership::State::lost ||
      ownership_.state() == Ownership::State::over) {
    return error(Errc::lock_lost, "this owner's earlier hold was lost; unlock it first");
  }
  // Others that hold shared would wait for this owner as it for them.
  const bool has_place = policy().rule.access != Access::shared;
  const bool keeps_it =
      ownership_.state() == Ownership::State::waiting || ownership_.exclusive_count() > 0;
  if (core::is_shared(kind) || (has_place && keeps_it)) return std::nullopt;
  return error(Errc::would_deadlock, "this owner has the lock shared; unlock that first");
}

void Contender::join(Call call) {
  const bool held = holds_validly();
  if (auto refused = refusal(call.kind)) {
    complete(call, {.error = std::move(refused)});
    return;
  }
  if (held) {
    complete(call, {.contender = shared_from_this()});
    ownership_.add(call.kind);  // now that the caller will hear of it
    return;
  }
  call.began = core().scheduler().now();
  core().scheduler().cancel(std::exchange(call.timer, {}));
  // A single attempt is not to hang on a server that is gone.
  const Deadline limit = waits_ ? call.deadline : for_one_round(core(), call.deadline);
  if (!limit.is_never()) {
    call.timer = core().scheduler().at(limit.at(), entering([ticket = call.ticket](Contender& c) {
                                         c.leave(ticket, Why::deadline);
                                       }));
  }
  calls_.push_back(std::move(call));
}

void Contender::leave(std::uint64_t ticket, Why why) {
  const auto call = std::ranges::find(calls_, ticket, &Call::ticket);
  if (call == calls_.end()) return;
  Call leaving = std::move(*call);
  calls_.erase(call);
  complete(leaving, outcome_of(leaving, why));
  if (calls_.empty()) give_up();
}

void Contender::leave_all(const void* on_behalf) {
  std::vector<std::uint64_t> tickets;
  for (const Call& call : calls_) {
    if (call.on_behalf == on_behalf) tickets.push_back(call.ticket);
  }
  for (const std::uint64_t ticket : tickets) leave(ticket, Why::closed);
}

void Contender::fail(Errc code, const std::string& cause) {
  if (ownership_.state() != Ownership::State::waiting) return;
  complete_all(code, cause);
  give_up();
}

Outcome Contender::outcome_of(const Call& call, Why why) {
  switch (why) {
    case Why::cancelled: return {};
    case Why::closed:
      return {.error = error(Errc::closed, core().closed() ? std::string_view{}
                                                           : "the mutex was destroyed meanwhile")};
    case Why::deadline: break;
  }
  if (waits_ && (place_->had_node() || core().keeper().is_connected())) return {};
  const auto waited =
      std::chrono::duration_cast<std::chrono::milliseconds>(core().scheduler().now() - call.began);
  std::string cause = "no server answered within " + std::to_string(waited.count()) + " ms";
  const std::string trouble = core().coordinator().trouble();
  if (!trouble.empty()) cause += " (" + trouble + ")";
  return {.error = error(Errc::not_connected, cause)};
}

void Contender::give_up() {
  if (ownership_.state() != Ownership::State::waiting) return;
  const auto self = shared_from_this();
  depart();
  if (local_ && local_->leave(*this)) return;
  place_->give_up();
}

// Nobody waits any more; the place may still have to find out about its node.
void Contender::depart() {
  ownership_.withdraw();
  engine_->forget(*this);
}

void Contender::drop_calls() noexcept {
  for (const Call& call : calls_) core().scheduler().cancel(call.timer);
  calls_.clear();
}

void Contender::attempt_ended() {
  if (ownership_.state() != Ownership::State::waiting) return;
  const auto self = shared_from_this();
  depart();
  // A single attempt has failed. Calls of the same owner that came meanwhile and can wait go on.
  Calls calls = std::exchange(calls_, {});
  std::shared_ptr<Contender> next;
  for (Call& call : calls) {
    if (waits_ || call.deadline.has_passed(core().scheduler().now())) {
      complete(call, {});
      continue;
    }
    if (!next) {
      core::AcquireFsm::Policy patient = policy();
      patient.rule = rule_for(calls);
      patient.gate = call.terms->gate;
      patient.wait = true;
      patient.lists = static_cast<bool>(call.terms->audience);
      // Who waits at a gate has a place of its own; and who only reads, where others write.
      const bool shares = !call.terms->gate && patient.rule == policy().rule;
      next = engine_->begin(key_, owner_, patient, call.terms->audience, shares ? local_ : nullptr);
    }
    next->join(std::move(call));
  }
  if (next) next->start();
}

// Calls that only read have joined one that was to write: they need not exclude anybody.
core::QueueRule Contender::rule_for(const Calls& calls) const {
  const core::Instant now = core().scheduler().now();
  const bool writes = std::ranges::any_of(calls, [now](const Call& call) {
    return !core::is_shared(call.kind) && !call.deadline.has_passed(now);
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
  for (Call& call : std::exchange(calls_, {})) {
    if (call.deadline.is_never()) {
      complete(call, {.error = error(Errc::not_connected, cause)});
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
  for (Call& call : std::exchange(calls_, {})) complete(call, {.error = error(code, cause)});
}

void Contender::complete(Call& call, Outcome outcome) {
  core().scheduler().cancel(call.timer);
  engine_->later([done = std::move(call.done), result = std::move(outcome)] { done(result); });
}

Error Contender::error(Errc code, std::string_view cause) const {
  return Error(code, "lock", engine_->path().str(), cause);
}

}  // namespace zklock::recipes
