// SPDX-License-Identifier: Apache-2.0
#include "zklock/engine/pending_acquire.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "zklock/core/cause_texts.h"
#include "zklock/engine/blocking_requests.h"

namespace zklock::detail {

std::shared_ptr<PendingAcquire> PendingAcquire::start(const std::shared_ptr<PathLock>& path,
                                                      AcquireRequest request,
                                                      const std::stop_token& stop) {
  auto call = std::make_shared<PendingAcquire>(path, request);
  if (stop.stop_requested()) {
    call->has_ended_ = true;  // no other thread knows the call
    call->finish({}, AcquireEnd::cancelled);
    return call;
  }
  if (stop.stop_possible()) call->on_stop_.emplace(stop, Cancel{call});
  if (auto refused = path->acquire(call, std::move(request))) throw *std::move(refused);
  return call;
}

PendingAcquire::PendingAcquire(std::shared_ptr<PathLock> path, AcquireRequest& request)
    : path_(std::move(path)),
      owner_(request.owner),
      kind_(request.kind),
      began_(path_->context().scheduler().now()),
      nodes_made_before_(path_->nodes_made()),
      blocks_(request.blocks),
      leads_(request.metrics.leads),
      reentrant_thread_(request.reentrant_thread),
      object_(request.object.get()),
      metrics_(request.metrics.label),
      time_limit_(request.time_limit),
      terms_(Terms{request.limit, request.event_sink, request.gate}),
      texts_(request.texts),
      done_(std::move(request.done)) {}

void PendingAcquire::cancel() noexcept {
  give_up({}, AcquireEnd::cancelled);
}

void PendingAcquire::fail(const Error& error) noexcept {
  give_up({.error = error}, AcquireEnd::failed);
}

void PendingAcquire::expire() noexcept {
  time_out(true);
}

/// `by_deadline`: the call ends by its own deadline, not because no server has answered.
void PendingAcquire::time_out(bool by_deadline) noexcept {
  if (path_->context().forked() || has_ended()) return;
  give_up(timed_out(by_deadline), AcquireEnd::timeout);
}

AcquireOutcome PendingAcquire::timed_out(bool by_deadline) const {
  EngineContext& context = path_->context();
  const bool met_servers =
      context.keeper().is_connected() || path_->nodes_made() != nodes_made_before_;
  if (by_deadline && met_servers) return {};
  const std::string cause = core::no_server_answered(context.scheduler().now() - began_,
                                                     context.coordinator().connection_problem());
  return {.error = Error(Errc::not_connected, "lock", path_->path().str(), cause)};
}

void PendingAcquire::give_up(AcquireOutcome outcome, AcquireEnd why) noexcept {
  if (path_->context().forked()) return;
  const EngineLock lock(path_->entry());
  if (has_ended()) return;
  end(std::move(outcome), why);
  path_->drop_ended_calls(owner_);
}

// The task keeps the call alive until the engine mutex is released.
void PendingAcquire::end(AcquireOutcome outcome, AcquireEnd why) {
  path_->assert_held();
  assert(!has_ended());
  path_->after_unlock([call = shared_from_this(), outcome = std::move(outcome), why]() mutable {
    call->finish(std::move(outcome), why);
  });
  disarm();
  has_ended_.store(true, std::memory_order_release);
}

void PendingAcquire::refuse() noexcept {
  path_->assert_held();
  has_ended_.store(true, std::memory_order_release);  // a stop does nothing from now on
  count_end(AcquireEnd::failed);
}

void PendingAcquire::count_end(AcquireEnd end) const noexcept {
  if (metrics_ == nullptr) return;
  metrics_->add_acquire(end, path_->context().scheduler().now() - began_);
}

void PendingAcquire::finish(AcquireOutcome outcome, AcquireEnd why) noexcept {
  assert(has_ended() && done_);
  if (!outcome.contender) {
    count_end(outcome.error ? AcquireEnd::failed : why);
    const bool deadlock = outcome.error && outcome.error->errc() == Errc::would_deadlock;
    if (deadlock && metrics_ != nullptr) metrics_->add_deadlock();
  }
  const auto done = std::exchange(done_, nullptr);
  done(std::move(outcome));
}

void PendingAcquire::arm(bool contender_waits) {
  path_->assert_held();
  EngineContext& context = path_->context();
  disarm();
  // A single attempt waits for an unreachable server for at most the connection timeout. So does a
  // call that joins one, but not beyond its own deadline.
  const Deadline limit = contender_waits
                             ? time_limit_.deadline()
                             : std::min(time_limit_.deadline(),
                                        round_trip_deadline(context, TimeLimit::single_attempt()));
  if (limit.is_never() || (blocks_ && contender_waits)) return;
  const bool by_deadline = limit == time_limit_.deadline();
  timer_ = context.scheduler().at(limit.at(), [weak = weak_from_this(), by_deadline] {
    if (const auto call = weak.lock()) call->time_out(by_deadline);
  });
}

void PendingAcquire::disarm() noexcept {
  path_->context().scheduler().cancel(std::exchange(timer_, {}));
}

}  // namespace zklock::detail
