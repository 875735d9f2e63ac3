// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/composite/composite_call.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "zklock/engine/contender.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/error.h"

namespace zklock::detail {

using core::CompositeEffect;
using core::PartAnswer;

namespace {

constexpr const char* kSkippedUnreachable =
    "the ensemble was skipped: its quorum has not answered since it was found unreachable; check "
    "its servers";
constexpr const char* kSkippedDisconnected =
    "the ensemble was skipped: its client has no connection; check its servers";

}  // namespace

CompositeCall::CompositeCall(std::shared_ptr<Composite> composite, CompositeRequest request)
    : composite_(std::move(composite)),
      request_(std::move(request)),
      fsm_({.parts = composite_->size(),
            .needed = composite_->rule().needed,
            .wait = request_.time_limit.waits(),
            .queue_again = composite_->rule().queue_again,
            .persists = composite_->rule().part_timeout && !request_.time_limit.is_endless()}),
      taken_(composite_->size()),
      errors_(composite_->size()) {}  // NOLINT(bugprone-throw-keyword-missing): throws none

std::shared_ptr<CompositeCall> CompositeCall::start(std::shared_ptr<Composite> composite,
                                                    CompositeRequest request) {
  std::shared_ptr<CompositeCall> call(new CompositeCall(std::move(composite), std::move(request)));
  call->begin();
  return call;
}

void CompositeCall::begin() noexcept {
  const std::stop_token& stop = request_.stop;
  const bool stopped = stop.stop_requested();
  // Until process_events(), events of other threads are only appended behind this one.
  post([stopped](CompositeCall& c) { c.carry_out(stopped ? c.fsm_.stop() : c.fsm_.start()); });
  composite_->call_began(id_, [weak = weak_from_this()] {
    if (const auto alive = weak.lock()) alive->close();
  });
  if (stop.stop_possible() && !stopped) on_stop_.emplace(stop, Cancel{weak_from_this()});
  process_events();
}

void CompositeCall::cancel() noexcept {
  if (composite_->forked()) return;
  post([](CompositeCall& c) { c.carry_out(c.fsm_.stop()); });
}

void CompositeCall::close() {
  post([](CompositeCall& c) {
    c.closed_ = true;
    c.carry_out(c.fsm_.stop());
  });
}

void CompositeCall::LossCheck::operator()() const {
  const auto alive = call.lock();
  if (alive && !alive->composite_->forked()) alive->post([](CompositeCall&) {});
}

// ---- the queue of events ------------------------------------------------------------------------

void CompositeCall::post(Event event) {
  {
    const client::MutexLock guard(composite_->mutex_);
    events_.push_back(std::move(event));
    if (std::exchange(processing_, true)) return;
  }
  process_events();
}

void CompositeCall::process_events() {
  const auto self = shared_from_this();
  Event next;
  while (take_event(next)) {
    check_losses();
    next(*this);
  }
}

bool CompositeCall::take_event(Event& event) noexcept {
  event = nullptr;
  const client::MutexLock guard(composite_->mutex_);
  assert(processing_);
  processing_ = !events_.empty();
  if (!processing_) return false;
  event = std::move(events_.front());
  events_.pop_front();
  return true;
}

// ---- driving the rule ---------------------------------------------------------------------------

void CompositeCall::check_losses() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i] && taken_[i]->outcome.contender->grant().state() == HoldState::lost) {
      carry_out(fsm_.on_part_lost(i));
    }
  }
}

void CompositeCall::carry_out(const core::CompositeEffects& effects) {
  for (const CompositeEffect& effect : effects) carry_out(effect);
}

void CompositeCall::carry_out(const CompositeEffect& effect) {
  switch (effect.kind) {
    case CompositeEffect::Kind::request: request_part(effect.part, false); return;
    case CompositeEffect::Kind::request_once: request_part(effect.part, true); return;
    case CompositeEffect::Kind::cancel:
      if (in_flight_) in_flight_->cancel();
      return;
    case CompositeEffect::Kind::release: drop(effect.part); return;
    case CompositeEffect::Kind::grant: grant(); return;
    case CompositeEffect::Kind::end: {
      if (!closed_) return finish({});
      const Error error(Errc::closed, "lock", composite_->paths(),
                        "the mutex was destroyed meanwhile");
      return finish({.error = std::make_exception_ptr(error)});
    }
    case CompositeEffect::Kind::fail_lost: finish({.error = lost_error(effect.part)}); return;
    case CompositeEffect::Kind::fail: finish({.error = failure()}); return;
  }
}

void CompositeCall::request_part(std::size_t part, bool is_single_attempt) {
  ++request_count_;
  in_flight_ = nullptr;
  PathPartLock& lock = composite_->part(part);
  const auto taken = std::ranges::count_if(taken_, [](const auto& t) { return t.has_value(); });
  const bool spare = static_cast<std::size_t>(taken) >= composite_->rule().needed;
  const bool dispensable = composite_->rule().part_timeout.has_value();
  const bool connected = lock.core().keeper().is_connected();
  const bool passed_over = composite_->is_unreachable(part) &&
                           (!request_.time_limit.waits() ||
                            (composite_->enough_reachable() && !fsm_.requests_every_part()));
  if (dispensable && (passed_over || (spare && !connected))) {
    const Error error(Errc::not_connected, "lock", lock.path(),
                      connected ? kSkippedUnreachable : kSkippedDisconnected);
    post([part, cause = std::make_exception_ptr(error)](CompositeCall& c) {
      c.on_failed(part, cause, PartAnswer::skipped);
    });
    return;
  }
  spare_ = request_.time_limit.waits() && is_single_attempt;
  last_contact_ = lock.core().scheduler().now();
  if (dispensable) part_timeout_ = part_timeout_with(last_contact_, composite_->size() - part);
  try {
    if (dispensable) schedule_check(request_count_);
    in_flight_ = lock.acquire(
        {.owner = request_.owner,
         .time_limit = is_single_attempt ? TimeLimit::single_attempt() : request_.time_limit,
         .kind = request_.kind,
         .queue_again = composite_->rule().queue_again,
         .limit = {.notice = request_.limit.notice},
         .bound = request_.bound,
         .texts = request_.texts,
         .done = [self = shared_from_this(), part](AcquireOutcome outcome) {
           self->post([part, outcome = std::move(outcome)](CompositeCall& c) mutable {
             c.on_answered(part, std::move(outcome));
           });
         }});
  } catch (const Error& error) {
    cancel_check();
    post([part, cause = std::make_exception_ptr(error)](CompositeCall& c) {
      c.on_failed(part, cause, PartAnswer::failed);
    });
  }
}

void CompositeCall::on_answered(std::size_t part, AcquireOutcome outcome) {
  assert(!fsm_.is_over());  // otherwise a grant would be retained for ever
  cancel_check();
  if (outcome.error) {
    const bool out = outcome.error->errc() == Errc::not_connected;
    return on_failed(part, std::make_exception_ptr(*outcome.error),
                     out ? PartAnswer::unreachable : PartAnswer::failed);
  }
  if (!outcome.contender) return carry_out(fsm_.on_part_answered(PartAnswer::none, late()));
  composite_->set_reachable(part);
  errors_[part] = nullptr;
  assert(!taken_[part]);
  taken_[part] = Taken{std::move(outcome), nullptr};
  const std::stop_token lost = taken_[part]->outcome.contender->grant().loss_token();
  taken_[part]->on_loss =
      std::make_unique<std::stop_callback<LossCheck>>(lost, LossCheck{weak_from_this()});
  carry_out(fsm_.on_part_answered(PartAnswer::granted, late()));
}

void CompositeCall::on_failed(std::size_t part, std::exception_ptr error, core::PartAnswer how) {
  errors_[part] = std::move(error);
  if (how == PartAnswer::unreachable) composite_->set_unreachable(part);
  carry_out(fsm_.on_part_answered(how, late()));
}

bool CompositeCall::late() const {
  auto& core = composite_->part(fsm_.requested_part()).core();
  return request_.time_limit.deadline().has_passed(core.scheduler().now());
}

// ---- the end ------------------------------------------------------------------------------------

void CompositeCall::drop(std::size_t part) {
  auto taken = std::exchange(taken_[part], std::nullopt);
  if (!taken) return;
  taken->on_loss.reset();
  taken->outcome.contender->release(composite_->part(part).count_kind(request_.kind));
}

// The maximum hold time begins at the grant of the whole, not while the call waits for other parts.
// If the owner already held the part, that hold's time continues.
void CompositeCall::start_hold_limit_of(std::size_t part) {
  if (!request_.limit.longest || !composite_->part(part).holds_once(request_.owner)) return;
  taken_[part]->outcome.contender->renew(request_.limit.longest);
}

void CompositeCall::grant() {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]) continue;
    start_hold_limit_of(i);
    indices.push_back(i);
  }
  CompositeOutcome outcome{.granted = true};
  if (request_.kind == core::CountKind::hold) {
    outcome.held = std::make_shared<CompositeGrant>(request_.owner, take_holds(indices),
                                                    composite_->size(), composite_->rule().needed);
  } else {
    composite_->locked(request_.owner, std::move(indices));
    for (auto& taken : taken_) taken.reset();  // unlock() releases the counts
  }
  finish(std::move(outcome));
}

std::vector<CompositeGrant::Part> CompositeCall::take_holds(
    const std::vector<std::size_t>& indices) {
  std::vector<CompositeGrant::Part> parts;
  parts.reserve(indices.size());
  for (const std::size_t i : indices) {
    const auto taken = std::exchange(taken_[i], std::nullopt);
    const core::CountKind kind = composite_->part(i).count_kind(core::CountKind::hold);
    parts.push_back({.hold = taken->outcome.contender->make_hold(kind),
                     .core = composite_->part(i).core().shared_from_this(),
                     .index = composite_->part_index(i)});
  }
  return parts;
}

void CompositeCall::finish(CompositeOutcome outcome) {
  assert(request_.done);
  assert(std::ranges::none_of(taken_, [](const auto& t) { return t.has_value(); }));
  composite_->call_ended(id_);
  if (!outcome.granted) outcome.refused = composite_->part(fsm_.requested_part()).path_lock();
  const auto done = std::exchange(request_.done, nullptr);
  done(std::move(outcome));
}

std::exception_ptr CompositeCall::lost_error(std::size_t part) const {
  if (composite_->part(part).core().closed()) {
    return std::make_exception_ptr(Error(Errc::closed, "lock", composite_->part(part).path()));
  }
  return std::make_exception_ptr(
      Error(Errc::lock_lost, "lock", composite_->part(part).path(),
            "the lock was acquired, and lost before all locks were acquired; acquire again"));
}

std::exception_ptr CompositeCall::failure() const {
  if (!composite_->rule().part_timeout) return errors_[fsm_.requested_part()];
  std::string text = "no majority of the ensembles is left";
  std::optional<Errc> code;
  for (std::size_t i = 0; i < errors_.size(); ++i) {
    if (!errors_[i]) continue;
    text.append(code ? ", " : " (").append(composite_->part(i).core().present_hosts().get());
    try {
      std::rethrow_exception(errors_[i]);
    } catch (const Error& e) {
      if (!code) code = e.errc();
      text.append(": ").append(e.what());
    } catch (const std::exception& e) {
      if (!code) code = Errc::server_error;
      text.append(": ").append(e.what());
    }
  }
  return std::make_exception_ptr(Error(code.value_or(Errc::not_connected), "lock",
                                       composite_->paths(), code ? text.append(")") : text));
}

}  // namespace zklock::detail
