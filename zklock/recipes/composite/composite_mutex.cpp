// SPDX-License-Identifier: Apache-2.0
#include "zklock/composite_mutex.h"

#include <utility>

#include "zklock/engine/callback/completion.h"
#include "zklock/engine/session/process.h"
#include "zklock/recipes/composite/composite.h"
#include "zklock/recipes/composite/composite_acquire.h"
#include "zklock/recipes/locks/checked_options.h"
#include "zklock/recipes/locks/forwarders.h"

namespace zklock {

using detail::Composite;
using detail::CompositeAcquire;
using detail::CompositeOutcome;
using detail::CompositeRequest;

namespace {

/// Returns the request for `options` on behalf of `owner`. Throws Error(invalid_option).
CompositeRequest wanted_of(const Composite& composite, const Owner& owner, AcquireOptions options,
                           core::CountKind kind = core::CountKind::hold) {
  const Composite::Rule& rule = composite.rule();
  const bool may_end_early =
      !options.deadline.is_never() || options.stop.stop_possible() || rule.part_timeout;
  return {.owner = owner,
          .time_limit = {options.deadline, composite.part(0).context().scheduler().now()},
          .kind = kind,
          .limit = detail::checked_limit(rule.limit, options.max_hold, composite.paths()),
          .bound = kind == core::CountKind::lock && !may_end_early && !rule.limit.longest,
          .texts = detail::CallTexts::of_call(rule.texts, options.note),
          .stop = std::move(options.stop)};
}

CompositeOutcome acquire_blocking(const std::shared_ptr<Composite>& composite,
                                  CompositeRequest request) {
  composite->check_usable("lock");
  const core::CountKind kind = request.kind;
  const Owner owner = request.owner;
  detail::BlockingCall<CompositeOutcome> end;
  request.done = [&end](CompositeOutcome outcome) { end.set(std::move(outcome)); };
  const auto call = CompositeAcquire::start(composite, std::move(request));
  auto outcome = detail::wait_or_cancel(end, *call, [&](const CompositeOutcome& late) {
    if (late.granted && kind == core::CountKind::lock) composite->unlock(owner);
  });
  if (outcome.error) throw *outcome.error;
  return outcome;
}

}  // namespace

void CompositeMutex::start(std::shared_ptr<Composite> composite, AcquireOptions options,
                           std::function<void(CompositeOutcome)> done) {
  composite->check_usable("lock");
  const Owner owner = options.owner ? *options.owner : Owner::unique();
  CompositeRequest call = wanted_of(*composite, owner, std::move(options));
  call.done = std::move(done);
  CompositeAcquire::start(std::move(composite), std::move(call));
}

void CompositeMutex::acquire_async(const std::shared_ptr<Composite>& composite,
                                   AcquireOptions options, CompositeHandler handler) {
  composite->check_usable("lock");
  auto end = detail::for_handler(std::move(handler), [composite](std::function<void()> task) {
    composite->post(std::move(task));
  });
  try {
    detail::checked_limit(composite->rule().limit, options.max_hold, composite->paths());
  } catch (const Error& error) {
    return end(std::make_exception_ptr(error), CompositeHold());
  }
  start(composite, std::move(options), [end = std::move(end)](CompositeOutcome outcome) mutable {
    end(detail::as_exception(outcome.error),
        CompositeHold(std::move(outcome.held), std::move(outcome.refused)));
  });
}

CompositeMutex::CompositeMutex(std::shared_ptr<Composite> composite)
    : composite_(std::move(composite)) {}

CompositeMutex::~CompositeMutex() {
  if (composite_->forked()) {
    detail::keep_for_ever(std::move(composite_));
  } else {
    composite_->close();
  }
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

ZKLOCK_DEFINE_TIMED_LOCK(CompositeMutex, )

void CompositeMutex::unlock() {
  composite_->unlock(Owner::this_thread());
}

CompositeHold CompositeMutex::acquire(AcquireOptions options) {
  const auto composite = composite_;  // another thread may destroy this object meanwhile
  const Owner owner = options.owner.value_or(Owner::this_thread());
  auto outcome = acquire_blocking(composite, wanted_of(*composite, owner, std::move(options)));
  return CompositeHold(std::move(outcome.held), std::move(outcome.refused));
}

void CompositeMutex::async_acquire(AcquireOptions options, CompositeHandler handler) {
  acquire_async(composite_, std::move(options), std::move(handler));
}

std::future<CompositeHold> CompositeMutex::async_acquire(AcquireOptions options) {
  return detail::as_future<CompositeHold>([&](auto end) {
    start(composite_, std::move(options), [end](CompositeOutcome outcome) {
      end(detail::as_exception(outcome.error),
          CompositeHold(std::move(outcome.held), std::move(outcome.refused)));
    });
  });
}

// Another thread may destroy this object before the coroutine waits.
CompositeMutex::Awaitable CompositeMutex::co_acquire(const AcquireOptions& options) {
  return Awaitable([composite = composite_, options](CompositeHandler handler,
                                                     std::stop_token abandoned) {
    AcquireOptions until_abandoned = options;
    handler =
        detail::with_second_stop_token(std::move(abandoned), until_abandoned, std::move(handler));
    acquire_async(composite, std::move(until_abandoned), std::move(handler));
  });
}

CompositeMutex::Awaitable CompositeMutex::co_acquire(Deadline deadline, std::stop_token stop) {
  const AcquireOptions options{.deadline = deadline, .stop = std::move(stop)};
  return co_acquire(options);
}

bool CompositeMutex::is_held_by_this_thread() const {
  return hold_count() > 0;
}

int CompositeMutex::hold_count() const {
  return composite_->forked() ? 0 : composite_->count(Owner::this_thread());
}

}  // namespace zklock
