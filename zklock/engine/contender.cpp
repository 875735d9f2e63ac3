// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/contender.h"

#include <algorithm>
#include <cassert>

#include "zklock/core/cause_texts.h"

namespace zklock::detail {

using core::Ownership;

Contender::Contender(std::shared_ptr<PathLock> path, Owner key, const Caller& caller, bool waits,
                     LockEventSink event_sink, MetricsTarget metrics)
    : path_(std::move(path)),
      key_(key),
      reporter_(path_->context(), path_->path(), caller, std::move(event_sink)),
      metrics_(metrics.label),
      waits_(waits),
      leads_(metrics.leads) {}

Contender::~Contender() {
  assert(!has_listener() || client::may_block_here());  // see outlive_lock()
}

void Contender::assert_invariants() const noexcept {
  assert(calls_.empty() || ownership_.state() == Ownership::State::waiting);
  assert((ownership_.count() > 0) == (holds() || ownership_.state() == Ownership::State::lost));
  assert(ownership_.count() == 0 || record_);
}

void Contender::add_to(LabelStates& states, core::Instant now) const {
  if (metrics_ == nullptr) return;
  if (holds() && record_->check_valid(now)) {
    LabelState& state = states[metrics_];
    ++state.holds;
    state.leaders += leads_ ? 1 : 0;
    state.oldest_hold = std::max(state.oldest_hold, now - record_->since());
  } else if (const PendingAcquire* const call = oldest_call()) {
    LabelState& state = states[metrics_];
    ++state.waiters;
    state.oldest_wait = std::max(state.oldest_wait, now - call->began());
  }
}

void Contender::on_position(std::size_t position) {
  const core::AcquireFsm& machine = node_->machine();
  const FencingToken token = machine.node().at_gate() ? FencingToken{} : machine.node().token();
  reporter_.report(LockEvent::Kind::waiting, token, position);
}

std::optional<Error> Contender::refusal(core::CountKind kind, const core::QueueRule& rule) const {
  if (ownership_.state() == Ownership::State::lost ||
      ownership_.state() == Ownership::State::over) {
    const auto reason = record_ ? record_->loss_reason() : std::nullopt;
    const std::string why = reason ? " (" + std::string(core::clause_of(*reason)) + ")" : "";
    return error(Errc::lock_lost, "this owner's earlier hold was lost" + why + "; unlock it first");
  }
  // Permits cover only a request for as many permits.
  if (policy().rule.access == Access::permits && !policy().rule.requests_as(rule)) {
    return error(Errc::would_deadlock,
                 "this owner has or requests permits on the path; release them first");
  }
  // Two shared holders that both request exclusive access would wait for each other.
  const bool is_not_shared = policy().rule.access != Access::shared;
  const bool retains_node =
      ownership_.state() == Ownership::State::waiting || ownership_.exclusive_count() > 0;
  if (core::is_shared(kind) || (is_not_shared && retains_node)) return std::nullopt;
  return error(Errc::would_deadlock,
               "this owner holds a read lock here, and would wait for itself; unlock it first");
}

void Contender::join(const std::shared_ptr<PendingAcquire>& call, const core::QueueRule& rule) {
  path_->assert_held();
  assert_invariants();
  check_validity();
  if (auto refused = refusal(call->kind(), rule)) {
    call->complete({.error = std::move(refused)});
    return;
  }
  if (holds()) {
    give_count(*call);
    return;
  }
  if (waits_ && !call->time_limit().waits()) {
    call->complete({});
    return;
  }
  call->arm(waits_);
  calls_.push_back(call);
}

void Contender::drop_ended_calls() {
  path_->assert_held();
  const auto has_ended = [](const auto& call) { return call->has_ended(); };
  calls_.erase(std::remove_if(calls_.begin(), calls_.end(), has_ended), calls_.end());
  if (calls_.empty()) withdraw();
}

void Contender::cancel_calls(const void* object) {
  for (const auto& call : calls_) {
    if (call->object() == object) call->complete(closed());
  }
  drop_ended_calls();
}

void Contender::fail(Errc code, const std::string& cause) noexcept {
  if (ownership_.state() != Ownership::State::waiting) return;
  complete_all(code, cause);
  withdraw();
}

AcquireOutcome Contender::closed() const {
  return {.error = error(Errc::closed, context().closed() ? std::string_view{}
                                                          : "the mutex was destroyed meanwhile")};
}

void Contender::withdraw() noexcept {
  path_->assert_held();
  if (ownership_.state() != Ownership::State::waiting) return;
  const auto self = shared_from_this();
  depart();
  node_->leave(*this);
}

// No call waits any more. The lock node may still have to find out whether it has a znode.
void Contender::depart() {
  outlive_lock();
  ownership_.withdraw();
  path_->dismiss(*this);
}

void Contender::outlive_lock() noexcept {
  if (has_listener()) path_->after_unlock([self = shared_from_this()] {});
}

void Contender::on_ended() {
  if (ownership_.state() != Ownership::State::waiting) return;
  const auto self = shared_from_this();
  depart();
  // A single attempt has failed. Calls of this owner that joined meanwhile and can wait get a new
  // contender.
  const core::Instant now = context().scheduler().now();
  Calls waiting;
  for (auto& call : std::exchange(calls_, {})) {
    if (waits_ || !call->time_limit().may_wait(now)) {
      call->complete({});
    } else {
      waiting.push_back(std::move(call));
    }
  }
  if (waiting.empty()) return;
  const PendingAcquire::Terms& terms = waiting[0]->terms();
  core::AcquireFsm::Policy patient = policy();
  patient.rule = rule_for(waiting);
  patient.gate = terms.gate;
  patient.wait = true;
  patient.count_children = !path_->omits_count();
  patient.always_list = static_cast<bool>(terms.event_sink);
  // With a gate, or as a reader among writers, it needs a lock node of its own.
  const bool shares = !terms.gate && patient.rule == policy().rule;
  assert(node_->caller().owner == owner());
  const Caller caller{.owner = owner(),
                      .thread = node_->caller().thread,  // that of the attempt
                      .texts = waiting[0]->texts(),
                      .is_candidate = waiting[0]->metrics().leads};
  const auto next = std::make_shared<Contender>(path_, key_, caller, patient.wait, terms.event_sink,
                                                waiting[0]->metrics());
  next->set_lock_node(LockNode::for_contender(
      path_, caller, patient, shares ? node_->cohort_policy() : core::CohortPolicy{}));
  path_->enlist(next);
  for (const auto& call : waiting) next->join(call, patient.rule);
  next->start(caller);
}

// If all remaining calls request shared access, returns the rule of a reader.
core::QueueRule Contender::rule_for(const Calls& waiting) const {
  const bool writes =
      std::ranges::any_of(waiting, [](const auto& call) { return !core::is_shared(call->kind()); });
  return writes ? node_->machine().policy().rule : core::QueueRule::reader();
}

void Contender::on_failed(Errc code, const std::string& cause) {
  complete_all(code, cause);
  if (ownership_.state() == Ownership::State::waiting) depart();
}

void Contender::on_unreachable(const std::string& cause) {
  Calls waiting;
  for (auto& call : std::exchange(calls_, {})) {
    if (call->time_limit().is_endless()) {
      call->complete({.error = error(Errc::not_connected, cause)});
    } else {
      waiting.push_back(std::move(call));
    }
  }
  calls_ = std::move(waiting);
  if (calls_.empty()) withdraw();
}

void Contender::complete_all(Errc code, const std::string& cause) {
  for (const auto& call : std::exchange(calls_, {})) call->complete({.error = error(code, cause)});
}

Error Contender::error(Errc code, std::string_view cause) const {
  return Error(code, "lock", path_->path().str(), cause);
}

}  // namespace zklock::detail
