// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/acquire_call.h"

#include <utility>

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
  const Ticket ticket = engine->acquire(std::move(wanted));
  bool cancelled = false;
  {
    const std::lock_guard guard(call->mutex_);
    call->ticket_ = ticket;
    cancelled = call->cancelled_;
  }
  if (cancelled) call->cancel();
  return call;
}

void AcquireCall::cancel() {
  if (engine_->core().forked()) return;
  std::optional<Ticket> ticket;
  {
    const std::lock_guard guard(mutex_);
    cancelled_ = true;
    ticket = ticket_;
  }
  if (ticket) engine_->cancel(*ticket);
}

}  // namespace zklock::recipes
