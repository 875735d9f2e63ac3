// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/composite/composite_acquire.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string>
#include <utility>

#include "zklock/engine/contender.h"
#include "zklock/engine/pending_acquire.h"

namespace zklock::detail {

using core::CompositeEffect;
using core::CompositeState;
using core::PartAnswer;

namespace {

constexpr const char* kSkippedUnreachable =
    "the ensemble was skipped: its quorum has not answered since it was found unreachable; check "
    "its servers";
constexpr const char* kSkippedDisconnected =
    "the ensemble was skipped: its client has no connection; check its servers";

std::string ms(core::Duration d) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count()) + " ms";
}

}  // namespace

CompositeAcquire::CompositeAcquire(std::shared_ptr<Composite> composite, CompositeRequest request)
    : composite_(std::move(composite)),
      request_(std::move(request)),
      closing_(composite_->closing()),
      fsm_({.parts = composite_->size(),
            .needed = composite_->rule().needed,
            .wait = request_.time_limit.waits(),
            .queue_again = composite_->rule().queue_again,
            .persists = composite_->rule().part_timeout && !request_.time_limit.is_endless()}),
      taken_(composite_->size()),
      errors_(composite_->size()) {}

std::shared_ptr<CompositeAcquire> CompositeAcquire::start(std::shared_ptr<Composite> composite,
                                                          CompositeRequest request) noexcept {
  std::shared_ptr<CompositeAcquire> call(
      new CompositeAcquire(std::move(composite), std::move(request)));
  const auto stop = call->poster([self = call.get()] { self->stop(); });
  call->on_close_.emplace(call->closing_, stop);
  call->on_stop_.emplace(call->request_.stop, stop);
  call->post([self = call.get()] { self->carry_out(self->fsm_.start()); });
  return call;
}

void CompositeAcquire::cancel() noexcept {
  if (composite_->forked()) return;
  post([this] { stop(); });
}

void CompositeAcquire::stop() {
  carry_out(fsm_.stop());
}

// ---- the queue of events ------------------------------------------------------------------------

void CompositeAcquire::post(Event event) {
  {
    const client::MutexLock guard(composite_->mutex_);
    events_.push_back(std::move(event));
    if (std::exchange(processing_, true)) return;
  }
  const auto self = shared_from_this();
  while (const Event next = take_event()) {
    check_losses();
    next();
  }
}

CompositeAcquire::Event CompositeAcquire::take_event() {
  const client::MutexLock guard(composite_->mutex_);
  processing_ = !events_.empty();
  if (!processing_) return nullptr;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

CompositeAcquire::Event CompositeAcquire::poster(Event event) {
  return [weak = weak_from_this(), event = std::move(event)] {
    const auto alive = weak.lock();
    if (alive && !alive->composite_->forked()) alive->post(event);
  };
}

// ---- driving the rule ---------------------------------------------------------------------------

void CompositeAcquire::check_losses() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i] && taken_[i]->contender->hold_record().state() == HoldState::lost) {
      carry_out(fsm_.on_part_lost(i));
    }
  }
}

void CompositeAcquire::carry_out(const core::CompositeEffects& effects) {
  for (const CompositeEffect& effect : effects) carry_out(effect);
}

void CompositeAcquire::carry_out(const CompositeEffect& effect) {
  switch (effect.kind) {
    case CompositeEffect::Kind::request: request_part(effect.part, false); return;
    case CompositeEffect::Kind::request_once: request_part(effect.part, true); return;
    case CompositeEffect::Kind::cancel:
      if (in_flight_) in_flight_->cancel();
      return;
    case CompositeEffect::Kind::release: drop(effect.part); return;
    case CompositeEffect::Kind::grant: grant(); return;
    case CompositeEffect::Kind::end: {
      if (!closing_.stop_requested()) return finish({});
      return finish({.error = Error(Errc::closed, "lock", composite_->paths(),
                                    "the mutex was destroyed meanwhile")});
    }
    case CompositeEffect::Kind::fail_lost: finish({.error = lost_error(effect.part)}); return;
    case CompositeEffect::Kind::fail: finish({.error = failure()}); return;
  }
}

void CompositeAcquire::request_part(std::size_t part, bool is_single_attempt) {
  attempt_.end();
  in_flight_ = nullptr;
  PathPartLock& lock = composite_->part(part);
  const bool dispensable = composite_->rule().part_timeout.has_value();
  if (const char* const why = dispensable ? reason_to_skip(part) : nullptr) {
    return post_failure(part, Error(Errc::not_connected, "lock", lock.path(), why),
                        PartAnswer::skipped);
  }
  last_contact_ = lock.context().scheduler().now();
  try {
    in_flight_ = lock.acquire(
        {.owner = request_.owner,
         .time_limit = is_single_attempt ? TimeLimit::single_attempt() : request_.time_limit,
         .kind = request_.kind,
         .queue_again = composite_->rule().queue_again,
         .limit = {.notice = request_.limit.notice},
         .bound = request_.bound,
         .texts = request_.texts,
         .done = [self = shared_from_this(), part](AcquireOutcome outcome) {
           self->post([call = self.get(), part, outcome = std::move(outcome)] {
             call->on_answered(part, outcome);
           });
         }});
  } catch (const Error& error) {
    return post_failure(part, error, PartAnswer::failed);
  }
  if (!dispensable) return;
  part_timeout_ = part_timeout_with(last_contact_, composite_->size() - part);
  schedule_check();
}

const char* CompositeAcquire::reason_to_skip(std::size_t part) const {
  const bool connected = composite_->part(part).context().keeper().is_connected();
  const bool spare = count_taken() >= composite_->rule().needed;
  const bool passed_over = composite_->is_unreachable(part) &&
                           (!request_.time_limit.waits() ||
                            (composite_->enough_reachable() && !fsm_.requests_every_part()));
  if (!passed_over && (!spare || connected)) return nullptr;
  return connected ? kSkippedUnreachable : kSkippedDisconnected;
}

void CompositeAcquire::on_answered(std::size_t part, const AcquireOutcome& outcome) {
  assert(!fsm_.is_over());  // otherwise a grant would be retained for ever
  cancel_check();
  if (outcome.error) {
    const bool out = outcome.error->errc() == Errc::not_connected;
    return on_failed(part, *outcome.error, out ? PartAnswer::unreachable : PartAnswer::failed);
  }
  if (!outcome.contender) return carry_out(fsm_.on_part_answered(PartAnswer::none, late()));
  composite_->set_reachable(part);
  errors_[part].reset();
  assert(!taken_[part]);
  taken_[part] = Taken{outcome.contender, nullptr};
  // The event does nothing itself: check_losses() precedes each event.
  taken_[part]->on_loss =
      std::make_unique<OnStop>(outcome.contender->hold_record().loss_token(), poster([] {}));
  carry_out(fsm_.on_part_answered(PartAnswer::granted, late()));
}

void CompositeAcquire::on_failed(std::size_t part, const Error& error, PartAnswer how) {
  errors_[part] = error;
  if (how == PartAnswer::unreachable) composite_->set_unreachable(part);
  carry_out(fsm_.on_part_answered(how, late()));
}

void CompositeAcquire::post_failure(std::size_t part, const Error& error, PartAnswer how) {
  post([this, part, error, how] { on_failed(part, error, how); });
}

bool CompositeAcquire::late() const {
  auto& context = composite_->part(fsm_.requested_part()).context();
  return request_.time_limit.deadline().has_passed(context.scheduler().now());
}

// ---- reachability -------------------------------------------------------------------------------

core::Duration CompositeAcquire::part_timeout_with(core::Instant now,
                                                   std::size_t parts_left) const {
  const core::Duration most = *composite_->rule().part_timeout;
  const Deadline deadline = request_.time_limit.deadline();
  if (deadline.is_never()) return most;
  const auto share = (deadline.at() - now) / static_cast<core::Duration::rep>(parts_left);
  return std::clamp<core::Duration>(share, std::chrono::milliseconds(1), most);
}

void CompositeAcquire::schedule_check() {
  auto& scheduler = composite_->part(fsm_.requested_part()).context().scheduler();
  core::Instant due = scheduler.now() + part_timeout_ / 4;
  if (is_spare()) due = std::min(due, request_.time_limit.deadline().at());
  check_timer_ = scheduler.at(due, poster(attempt_.guard([this] { check_reachability(); })));
}

void CompositeAcquire::cancel_check() {
  auto& scheduler = composite_->part(fsm_.requested_part()).context().scheduler();
  scheduler.cancel(std::exchange(check_timer_, {}));
}

bool CompositeAcquire::is_spare() const noexcept {
  return request_.time_limit.waits() && !in_flight_->time_limit().waits();
}

void CompositeAcquire::check_reachability() {
  if (fsm_.state() != CompositeState::requesting) return;
  // The request for a spare part is a single attempt, which has no deadline. So the deadline of the
  // call is checked here.
  if (is_spare() && late()) return carry_out(fsm_.on_part_timed_out());
  const std::size_t part = fsm_.requested_part();
  PathPartLock& lock = composite_->part(part);
  const auto now = lock.context().scheduler().now();
  if (lock.has_contact(request_.owner)) {
    last_contact_ = now;
    errors_[part].reset();  // from an earlier round
  } else if (now - last_contact_ >= part_timeout_) {
    composite_->set_unreachable(part);
    errors_[part] =
        Error(Errc::not_connected, "lock", lock.path(),
              "no answer from the ensemble within " + ms(part_timeout_) +
                  "; check its servers, or raise the deadline or QuorumOptions::ensemble_timeout");
    return carry_out(fsm_.on_part_timed_out());
  }
  schedule_check();
}

// ---- the end ------------------------------------------------------------------------------------

void CompositeAcquire::drop(std::size_t part) {
  auto taken = std::exchange(taken_[part], std::nullopt);
  if (!taken) return;
  taken->on_loss.reset();
  taken->contender->release(composite_->part(part).rule().count_kind(request_.kind));
}

// The maximum hold time begins at the grant of the whole, not while the call waits for other parts.
// If the owner already held the part, that hold's time continues.
void CompositeAcquire::start_hold_limit_of(std::size_t part) {
  if (!request_.limit.longest || !composite_->part(part).holds_once(request_.owner)) return;
  taken_[part]->contender->renew(request_.limit.longest);
}

void CompositeAcquire::grant() {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]) continue;
    start_hold_limit_of(i);
    indices.push_back(i);
  }
  CompositeOutcome outcome{.granted = true};
  if (request_.kind == core::CountKind::hold) {
    outcome.held = std::make_shared<CompositeHoldRecord>(
        request_.owner, take_holds(indices), composite_->size(), composite_->rule().needed);
  } else {
    composite_->locked(request_.owner, std::move(indices));
    for (auto& taken : taken_) taken.reset();  // unlock() releases the counts
  }
  finish(std::move(outcome));
}

std::vector<CompositeHoldRecord::Part> CompositeAcquire::take_holds(
    const std::vector<std::size_t>& indices) {
  std::vector<CompositeHoldRecord::Part> parts;
  parts.reserve(indices.size());
  for (const std::size_t i : indices) {
    const auto taken = std::exchange(taken_[i], std::nullopt);
    const core::CountKind kind = composite_->part(i).rule().count_kind(core::CountKind::hold);
    parts.push_back({.hold = taken->contender->make_hold(kind),
                     .context = composite_->part(i).context().shared_from_this(),
                     .index = composite_->part(i).index()});
  }
  return parts;
}

void CompositeAcquire::finish(CompositeOutcome outcome) {
  assert(request_.done);
  assert(count_taken() == 0);
  if (!outcome.granted) outcome.refused = composite_->part(fsm_.requested_part()).path_lock();
  const auto done = std::exchange(request_.done, nullptr);
  done(std::move(outcome));
}

std::size_t CompositeAcquire::count_taken() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(taken_, [](const auto& t) { return t.has_value(); }));
}

Error CompositeAcquire::lost_error(std::size_t part) const {
  const std::string& path = composite_->part(part).path();
  if (composite_->part(part).context().closed()) return {Errc::closed, "lock", path};
  return {Errc::lock_lost, "lock", path,
          "the lock was acquired, and lost before all locks were acquired; acquire again"};
}

Error CompositeAcquire::failure() const {
  if (!composite_->rule().part_timeout) return errors_[fsm_.requested_part()].value();
  std::string text = "no majority of the ensembles is left";
  std::optional<Errc> code;
  for (std::size_t i = 0; i < errors_.size(); ++i) {
    if (!errors_[i]) continue;
    text.append(code ? ", " : " (").append(composite_->part(i).context().present_hosts().get());
    text.append(": ").append(errors_[i]->what());
    if (!code) code = errors_[i]->errc();
  }
  return {code.value_or(Errc::not_connected), "lock", composite_->paths(),
          code ? text.append(")") : text};
}

}  // namespace zklock::detail
