// SPDX-License-Identifier: Apache-2.0
#include "zklock/composite_mutex.h"

#include <utility>

#include "zklock/recipes/blocking_call.h"
#include "zklock/recipes/composite.h"
#include "zklock/recipes/composite_call.h"
#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/object_options.h"

namespace zklock {

using recipes::Composite;
using recipes::CompositeCall;
using recipes::CompositeOutcome;
using recipes::CompositeWanted;

namespace {

/// What `options` ask for on behalf of `owner`. Throws Error(invalid_option).
CompositeWanted wanted_of(const Composite& composite, const Owner& owner, AcquireOptions options,
                          core::CountKind kind = core::CountKind::hold) {
  return {
      .owner = owner,
      .deadline = options.deadline,
      .kind = kind,
      .limit = recipes::checked_limit(composite.rule().limit, options.max_hold, composite.paths()),
      .stop = std::move(options.stop)};
}

/// Waits on the calling thread. Interrupted, it leaves the queues, and gives back what came at that
/// very moment.
CompositeOutcome acquire_blocking(const std::shared_ptr<Composite>& composite,
                                  CompositeWanted wanted) {
  composite->check_usable("lock");
  recipes::BlockingCall<CompositeOutcome> call;
  const core::CountKind kind = wanted.kind;
  const Owner owner = wanted.owner;
  wanted.done = [&call](CompositeOutcome outcome) { call.set(std::move(outcome)); };
  const auto acquiring = CompositeCall::start(composite, std::move(wanted));
  CompositeOutcome outcome;
  try {
    outcome = call.wait();
  } catch (const boost::thread_interrupted&) {
    acquiring->cancel();
    outcome = call.wait_without_interruption();
    if (outcome.granted && kind == core::CountKind::lock) composite->unlock(owner);
    throw;
  }
  if (outcome.error) std::rethrow_exception(outcome.error);
  return outcome;
}

}  // namespace

void CompositeMutex::start(std::shared_ptr<Composite> composite, AcquireOptions options,
                           std::function<void(CompositeOutcome)> done) {
  composite->check_usable("lock");
  const Owner owner = options.owner ? *options.owner : Owner::unique();
  CompositeWanted call = wanted_of(*composite, owner, std::move(options));
  call.done = std::move(done);
  CompositeCall::start(std::move(composite), std::move(call));
}

void CompositeMutex::acquire_async(const std::shared_ptr<Composite>& composite,
                                   AcquireOptions options, CompositeHandler handler) {
  // What the handler owns must not die on the threads that bring the outcome: there is one copy,
  // and it moves on to the executor.
  auto only = std::make_shared<CompositeHandler>(std::move(handler));
  composite->check_usable("lock");
  try {
    wanted_of(*composite, Owner::unique(), options);
  } catch (const Error& error) {
    composite->post([only = std::move(only), refused = std::make_exception_ptr(error)] {
      (*only)(CompositeHold(), refused);
    });
    return;
  }
  start(composite, std::move(options),
        [composite, only = std::move(only)](CompositeOutcome outcome) mutable {
          auto hold = std::make_shared<CompositeHold>(CompositeHold(std::move(outcome.held)));
          composite->post([hold = std::move(hold), only = std::move(only), error = outcome.error] {
            (*only)(std::move(*hold), error);
          });
        });
}

CompositeMutex::CompositeMutex(std::shared_ptr<Composite> composite)
    : composite_(std::move(composite)) {}

CompositeMutex::~CompositeMutex() {
  if (composite_->forked()) {
    recipes::keep_for_ever(std::move(composite_));
    return;
  }
  composite_->close();
}

bool CompositeMutex::lock_until(Deadline deadline, std::stop_token stop) {
  const auto composite = composite_;  // another thread may destroy this object meanwhile
  composite->check_usable("lock");
  composite->unlock_at_thread_exit();
  return acquire_blocking(composite, wanted_of(*composite, Owner::this_thread(),
                                               {.deadline = deadline, .stop = std::move(stop)},
                                               core::CountKind::lock))
      .granted;
}

void CompositeMutex::lock() {
  lock_until(Deadline::never(), {});
}

bool CompositeMutex::lock(std::stop_token stop) {
  return lock_until(Deadline::never(), std::move(stop));
}

bool CompositeMutex::try_lock() {
  return lock_until(Deadline::passed(), {});
}

void CompositeMutex::unlock() {
  composite_->unlock(Owner::this_thread());
}

CompositeHold CompositeMutex::acquire(AcquireOptions options) {
  const auto composite = composite_;  // another thread may destroy this object meanwhile
  const Owner owner = options.owner.value_or(Owner::this_thread());
  auto outcome = acquire_blocking(composite, wanted_of(*composite, owner, std::move(options)));
  return CompositeHold(std::move(outcome.held));
}

void CompositeMutex::async_acquire(AcquireOptions options, CompositeHandler handler) {
  acquire_async(composite_, std::move(options), std::move(handler));
}

std::future<CompositeHold> CompositeMutex::async_acquire(AcquireOptions options) {
  auto promise = std::make_shared<std::promise<CompositeHold>>();
  auto future = promise->get_future();
  try {
    start(composite_, std::move(options), [promise](CompositeOutcome outcome) {
      if (outcome.error) {
        promise->set_exception(outcome.error);
      } else {
        promise->set_value(CompositeHold(std::move(outcome.held)));
      }
    });
  } catch (...) {
    promise->set_exception(std::current_exception());
  }
  return future;
}

// Another thread may destroy this object before the coroutine waits.
CompositeMutex::Awaitable CompositeMutex::co_acquire(AcquireOptions options) {
  return Awaitable(
      [composite = composite_, options = std::move(options)](CompositeHandler handler) {
        acquire_async(composite, options, std::move(handler));
      });
}

bool CompositeMutex::is_held_by_this_thread() const {
  return hold_count() > 0;
}

int CompositeMutex::hold_count() const {
  return composite_->forked() ? 0 : composite_->count(Owner::this_thread());
}

}  // namespace zklock
