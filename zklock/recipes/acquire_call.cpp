// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/acquire_call.h"

#include <utility>

#include "zklock/recipes/contender.h"

namespace zklock::recipes {

std::shared_ptr<AcquireCall> AcquireCall::start(const std::shared_ptr<LockEngine>& engine,
                                                Wanted wanted, const std::stop_token& stop) {
  std::shared_ptr<AcquireCall> call(new AcquireCall(engine));
  wanted.stopped = stop.stop_requested();
  if (stop.stop_possible() && !wanted.stopped) {
    // Kept alive, and the callback registered, until the call has ended: done() holds it.
    wanted.done = [call, done = std::move(wanted.done)](Outcome outcome) {
      done(std::move(outcome));
    };
    call->on_stop_.emplace(stop, Cancel{call});
  }
  if (wanted.gate && !engine->contends(wanted.owner)) {
    call->ask(engine->gate(), call->for_the_gate(std::move(wanted)));
  } else {
    call->ask(engine, std::move(wanted));
  }
  return call;
}

void AcquireCall::ask(const std::shared_ptr<LockEngine>& engine, Wanted wanted) {
  {
    const std::lock_guard guard(mutex_);
    wanted.stopped = wanted.stopped || cancelled_;
  }
  const Ticket ticket = engine->acquire(std::move(wanted));
  bool cancelled = false;
  {
    const std::lock_guard guard(mutex_);
    // The call may have gone on from the gate to the lock before acquire() returned here.
    if (engine == engine_ || asked_ != engine_) {
      asked_ = engine;
      ticket_ = ticket;
    }
    cancelled = cancelled_;
  }
  if (cancelled) cancel();
}

Wanted AcquireCall::for_the_gate(Wanted wanted) {
  Wanted leave = wanted;
  leave.rule = *wanted.gate;
  leave.gate.reset();
  leave.limit = {};
  leave.audience.line.reset();  // it is told of the lock, not of the gate
  leave.kind = core::CountKind::hold;
  leave.done = [self = shared_from_this(), wanted = std::move(wanted)](Outcome gate) mutable {
    self->passed(std::move(wanted), std::move(gate));
  };
  return leave;
}

void AcquireCall::passed(Wanted wanted, Outcome gate) {
  // A leave that was lost is an earlier call's: this owner has passed, and joins that call.
  const bool joins = gate.error && gate.error->errc() == Errc::lock_lost;
  if (!gate.contender && !joins) return wanted.done(std::move(gate));
  const auto done = std::move(wanted.done);
  const auto object = wanted.on_behalf;
  try {
    const auto leave = std::make_shared<Hold>(
        gate.contender ? gate.contender->make_hold(core::CountKind::hold) : Hold());
    wanted.done = [leave, done](Outcome outcome) {
      leave->release();
      done(std::move(outcome));
    };
    ask(engine_, std::move(wanted));
  } catch (const Error& error) {
    return done({.error = error});
  } catch (const std::exception& e) {  // no thread, no memory; there is no caller to tell but done
    return done({.error = Error(Errc::server_error, "lock", engine_->path().str(), e.what())});
  }
  // Between gate and lock its cancel_all() may have missed this call.
  if (object && *object) engine_->cancel_all(object.get());
}

void AcquireCall::cancel() {
  if (engine_->core().forked()) return;
  std::shared_ptr<LockEngine> asked;
  std::optional<Ticket> ticket;
  {
    const std::lock_guard guard(mutex_);
    cancelled_ = true;
    ticket = ticket_;
    asked = asked_;
  }
  if (ticket) asked->cancel(*ticket);
}

}  // namespace zklock::recipes
