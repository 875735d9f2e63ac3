// SPDX-License-Identifier: Apache-2.0
#include "zklock/reentrant_mutex.h"

#include <algorithm>
#include <utility>

#include "zklock/recipes/acquire_call.h"
#include "zklock/recipes/blocking_call.h"
#include "zklock/recipes/contender.h"
#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/lock_engine.h"
#include "zklock/recipes/queue_reader.h"
#include "zklock/recipes/thread_exit.h"

namespace zklock {

using recipes::AcquireCall;
using recipes::Contender;
using recipes::LockEngine;
using recipes::Outcome;
using recipes::Wanted;

namespace {

std::shared_ptr<LockEngine> engine_for(recipes::ClientCore& core, std::string path) {
  core::LockPath checked(std::move(path));
  core.check_usable("lock", checked.str());
  return core.engine(checked);
}

/// Waits on the calling thread. Interrupted, it leaves the queue, and gives back a count that came
/// at that very moment.
std::shared_ptr<Contender> acquire_blocking(const std::shared_ptr<LockEngine>& engine,
                                            Wanted wanted, const std::stop_token& stop) {
  engine->core().check_usable("lock", engine->path().str());
  recipes::BlockingCall<Outcome> call;
  const core::CountKind kind = wanted.kind;
  const Owner owner = wanted.owner;
  wanted.done = [&call](Outcome outcome) { call.set(std::move(outcome)); };
  const auto acquiring = AcquireCall::start(engine, std::move(wanted), stop);
  Outcome outcome;
  try {
    outcome = call.wait();
  } catch (const boost::thread_interrupted&) {
    acquiring->cancel();
    outcome = call.wait_without_interruption();
    if (outcome.contender && kind == core::CountKind::lock) engine->unlock(owner);
    if (outcome.contender && kind == core::CountKind::hold) outcome.contender->release();
    throw;
  }
  if (outcome.error) throw *outcome.error;
  return std::move(outcome.contender);
}

}  // namespace

ReentrantMutex::ReentrantMutex(Client& client, std::string path, MutexOptions options)
    : engine_(engine_for(*client.core_, std::move(path))), options_(options) {
  engine_->attach();
}

ReentrantMutex::~ReentrantMutex() {
  if (engine_->core().forked()) {
    recipes::keep_for_ever(std::move(engine_));
    return;
  }
  engine_->cancel_all(this);
  if (engine_->detach()) {
    engine_->core().warn("lock " + path() + ": the mutex is destroyed while locked");
  }
}

Wanted ReentrantMutex::wanted(Owner owner, Deadline deadline, core::CountKind kind) const {
  return {.owner = owner,
          .deadline = deadline,
          .kind = kind,
          .queue_again = options_.on_node_lost == OnNodeLost::queue_again,
          .on_behalf = this};
}

bool ReentrantMutex::lock_until(Deadline deadline, std::stop_token stop) {
  const auto engine = engine_;  // another thread may destroy this object meanwhile
  recipes::call_at_thread_exit(engine);
  return acquire_blocking(engine, wanted(Owner::this_thread(), deadline, core::CountKind::lock),
                          stop) != nullptr;
}

void ReentrantMutex::lock() {
  lock_until(Deadline::never(), {});
}

bool ReentrantMutex::lock(std::stop_token stop) {
  return lock_until(Deadline::never(), std::move(stop));
}

bool ReentrantMutex::try_lock() {
  return lock_until(Deadline::passed(), {});
}

void ReentrantMutex::unlock() {
  if (engine_->core().forked()) throw Error(Errc::forked, "unlock", path());
  if (!engine_->unlock(Owner::this_thread())) throw Error(Errc::not_owner, "unlock", path());
}

Hold ReentrantMutex::acquire(AcquireOptions options) {
  const auto engine = engine_;  // another thread may destroy this object meanwhile
  const Owner owner = options.owner.value_or(Owner::this_thread());
  const auto contender = acquire_blocking(
      engine, wanted(owner, options.deadline, core::CountKind::hold), options.stop);
  return contender ? contender->make_hold() : Hold();
}

void ReentrantMutex::start(AcquireOptions options, std::function<void(Outcome)> done) {
  engine_->core().check_usable("lock", path());
  const Owner owner = options.owner ? *options.owner : Owner::unique();
  Wanted call = wanted(owner, options.deadline, core::CountKind::hold);
  call.done = std::move(done);
  AcquireCall::start(engine_, std::move(call), options.stop);
}

void ReentrantMutex::async_acquire(AcquireOptions options, AcquireHandler handler) {
  // What the handler owns must not die on the threads that bring the outcome: there is one copy,
  // and it moves on to the executor. A task that is never run gives the hold back.
  auto only = std::make_shared<AcquireHandler>(std::move(handler));
  start(std::move(options), [dispatcher = &engine_->core().dispatcher(),
                             only = std::move(only)](Outcome outcome) mutable {
    auto hold = std::make_shared<Hold>(outcome.contender ? outcome.contender->make_hold() : Hold());
    dispatcher->post([hold = std::move(hold), only = std::move(only), error = outcome.error] {
      (*only)(std::move(*hold), error ? std::make_exception_ptr(*error) : nullptr);
    });
  });
}

std::future<Hold> ReentrantMutex::async_acquire(AcquireOptions options) {
  auto promise = std::make_shared<std::promise<Hold>>();
  auto future = promise->get_future();
  try {
    start(std::move(options), [promise](Outcome outcome) {
      if (outcome.error) {
        promise->set_exception(std::make_exception_ptr(*outcome.error));
      } else {
        promise->set_value(outcome.contender ? outcome.contender->make_hold() : Hold());
      }
    });
  } catch (...) {
    promise->set_exception(std::current_exception());
  }
  return future;
}

ReentrantMutex::Awaitable ReentrantMutex::co_acquire(AcquireOptions options) {
  return {*this, std::move(options)};
}

void ReentrantMutex::Awaitable::await_suspend(std::coroutine_handle<> caller) {
  // The coroutine may go on, and this object with it, before async_acquire() has returned.
  mutex_->async_acquire(std::move(options_), [this, caller](Hold hold, std::exception_ptr error) {
    hold_ = std::move(hold);
    error_ = std::move(error);
    caller.resume();
  });
}

Hold ReentrantMutex::Awaitable::await_resume() {
  if (error_) std::rethrow_exception(error_);
  return std::move(hold_);
}

bool ReentrantMutex::is_held_by_this_thread() const {
  return hold_count() > 0;
}

int ReentrantMutex::hold_count() const {
  if (engine_->core().forked()) return 0;
  return engine_->count(Owner::this_thread());
}

std::vector<Participant> ReentrantMutex::participants(Deadline deadline) const {
  return recipes::read_participants(engine_, deadline);
}

std::optional<std::size_t> ReentrantMutex::queue_position(std::optional<Owner> owner,
                                                          Deadline deadline) const {
  const auto queue = recipes::read_queue(engine_, deadline);
  const std::string node = engine_->node_of(owner.value_or(Owner::this_thread()));
  const auto found = std::ranges::find(queue, node, &core::NodeName::text);
  if (node.empty() || found == queue.end()) return std::nullopt;
  return static_cast<std::size_t>(found - queue.begin());
}

const std::string& ReentrantMutex::path() const noexcept {
  return engine_->path().str();
}

}  // namespace zklock
