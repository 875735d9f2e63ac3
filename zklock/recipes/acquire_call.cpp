// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/acquire_call.h"

#include <exception>
#include <string>
#include <utility>

#include "zklock/recipes/round_trip.h"

namespace zklock::recipes {

std::shared_ptr<AcquireCall> AcquireCall::start(const std::shared_ptr<LockEngine>& engine,
                                                Wanted wanted, const std::stop_token& stop) {
  auto call = std::make_shared<AcquireCall>(engine, wanted);
  if (stop.stop_requested()) {
    call->leave_waiting(State::abandoned);
    call->finish({});
    return call;
  }
  if (stop.stop_possible()) call->on_stop_.emplace(stop, Cancel{call});
  try {
    engine->acquire(call, std::move(wanted));
  } catch (...) {
    if (call->leave_waiting(State::completed)) throw;  // otherwise a stop has called `done`
  }
  return call;
}

AcquireCall::AcquireCall(std::shared_ptr<LockEngine> engine, Wanted& wanted)
    : engine_(std::move(engine)),
      owner_(wanted.owner),
      kind_(wanted.kind),
      began_(engine_->core().scheduler().now()),
      nodes_made_before_(engine_->nodes_made()),
      waits_(!wanted.deadline.has_passed(began_)),
      blocks_(wanted.blocks),
      on_behalf_(wanted.on_behalf.get()),
      deadline_(wanted.deadline),
      terms_(Terms{wanted.limit, wanted.audience, wanted.gate}),
      done_(std::move(wanted.done)) {}

AcquireCall::~AcquireCall() = default;

bool AcquireCall::leave_waiting(State next) noexcept {
  State waiting = State::waiting;
  return state_.compare_exchange_strong(waiting, next, std::memory_order_acq_rel);
}

void AcquireCall::cancel() noexcept {
  if (!engine_->core().forked()) abandon({});
}

void AcquireCall::expire() noexcept {
  if (engine_->core().forked() || has_ended()) return;
  Outcome outcome;
  try {
    outcome = timed_out();
  } catch (const std::exception&) {  // no memory for the text: the call ends without it
  }
  abandon(std::move(outcome));
}

Outcome AcquireCall::timed_out() const {
  ClientCore& core = engine_->core();
  const core::Instant now = core.scheduler().now();
  const bool met_servers =
      core.keeper().is_connected() || engine_->nodes_made() != nodes_made_before_;
  // A call that joined a single attempt can end before its own deadline: that is an error.
  const bool by_deadline = !joined_attempt_ || deadline_.has_passed(now);
  if (waits_ && by_deadline && met_servers) return {};
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - began_);
  std::string cause = "no server answered within " + std::to_string(waited.count()) + " ms";
  const std::string trouble = core.coordinator().trouble();
  if (!trouble.empty()) cause += " (" + trouble + ")";
  return {.error = Error(Errc::not_connected, "lock", engine_->path().str(), cause)};
}

void AcquireCall::abandon(Outcome outcome) noexcept {
  if (!leave_waiting(State::abandoned)) return;
  engine_->sweep_soon(owner_);  // first: before the caller's next single attempt
  finish(std::move(outcome));
}

void AcquireCall::finish(Outcome outcome) noexcept {
  try {
    const auto done = std::exchange(done_, nullptr);
    done(std::move(outcome));
  } catch (const std::exception& e) {  // no thread or memory
    engine_->core().warn("lock " + engine_->path().str() + ": " + e.what());
  }
}

void AcquireCall::arm(bool waits) {
  ClientCore& core = engine_->core();
  disarm();
  joined_attempt_ = waits_ && !waits;
  // A single attempt waits for an unreachable server for at most the connection timeout.
  const Deadline limit = waits ? deadline_ : for_one_round(core, deadline_);
  if (limit.is_never() || (blocks_ && waits)) return;
  timer_ = core.scheduler().at(limit.at(), [weak = weak_from_this()] {
    if (const auto call = weak.lock()) call->expire();
  });
}

void AcquireCall::disarm() noexcept {
  engine_->core().scheduler().cancel(std::exchange(timer_, {}));
}

// The task is queued first: without memory for it, the call has not ended.
bool AcquireCall::complete(Outcome outcome) {
  if (has_ended()) return false;
  engine_->later([call = shared_from_this(), outcome = std::move(outcome)] {
    if (call->state_ == State::completed) call->finish(outcome);
  });
  disarm();
  return leave_waiting(State::completed);
}

}  // namespace zklock::recipes
