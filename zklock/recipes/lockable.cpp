// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/lockable.h"

#include <utility>

#include "zklock/recipes/acquire_call.h"
#include "zklock/recipes/blocking_call.h"
#include "zklock/recipes/contender.h"
#include "zklock/recipes/delivery.h"
#include "zklock/recipes/object_options.h"

namespace zklock::recipes {

namespace {

using core::CountKind;

CountKind count_of_hold(const Lockable::Kind& kind) noexcept {
  return kind.rule.access == Access::shared ? CountKind::shared_hold : CountKind::hold;
}

CountKind count_of_lock(const Lockable::Kind& kind) noexcept {
  return kind.rule.access == Access::shared ? CountKind::shared_lock : CountKind::lock;
}

Hold hold_of(const std::shared_ptr<Contender>& contender, CountKind count) {
  return contender ? contender->make_hold(count) : Hold();
}

}  // namespace

std::shared_ptr<Lockable> Lockable::make(Client& client, std::string path, MutexOptions options,
                                         Traits traits) {
  core::LockPath checked(std::move(path));
  const auto& core = ClientCore::of(client);
  core->check_usable("lock", checked.str());
  return std::make_shared<Lockable>(core->engine(checked), std::move(options), traits);
}

Lockable::Lockable(std::shared_ptr<LockEngine> engine, MutexOptions options, Traits traits)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      limit_(checked_limit(options_, engine_->path().str())),
      lock_delay_(checked_delay(options_.lock_delay, engine_->path().str())),
      local_(checked_local(options_, engine_->path().str())),
      listener_(make_line(engine_->core(), options_)) {
  if (!traits.local) check_not_local(options_, path());
  engine_->attach();
}

Lockable::~Lockable() = default;

void Lockable::object_destroyed(std::shared_ptr<Lockable> lockable) noexcept {
  LockEngine& engine = *lockable->engine_;
  if (engine.core().forked()) {
    keep_for_ever(std::move(lockable));
    return;
  }
  const std::atomic<bool>* const object = lockable->destroyed_.get();
  *lockable->destroyed_ = true;
  engine.cancel_all(object);
  if (engine.detach()) {
    engine.core().warn("lock " + lockable->path() + ": the mutex is destroyed while locked");
  }
  if (lockable->listener_) lockable->listener_->remove();
}

void Lockable::check(const Kind& kind, const AcquireOptions& options) const {
  if (kind.refusal) throw *kind.refusal;
  checked_limit(limit_, options.max_hold, path());
}

Wanted Lockable::wanted(const Kind& kind, Owner owner, const AcquireOptions& options,
                        CountKind count) const {
  check(kind, options);
  return {.owner = kind.nests ? owner : Owner::unique(),
          .on_behalf_of = owner,
          .rule = kind.rule,
          .gate = kind.gate,
          .deadline = options.deadline,
          .kind = count,
          .queue_again = options_.on_node_lost == OnNodeLost::queue_again,
          .on_behalf = destroyed_,
          .limit = checked_limit(limit_, options.max_hold, path()),
          .audience = LockAudience(listener_),
          .lock_delay = lock_delay_,
          .local = local_};
}

// Waits on the calling thread. Interrupted, it leaves the queue, and gives back a count that came
// at that very moment.
std::shared_ptr<Contender> Lockable::acquire_blocking(Wanted wanted, const std::stop_token& stop) {
  engine_->core().check_usable("lock", path());
  BlockingCall<Outcome> call;
  const CountKind kind = wanted.kind;
  wanted.done = [&call](Outcome outcome) { call.set(std::move(outcome)); };
  const auto acquiring = AcquireCall::start(engine_, std::move(wanted), stop);
  Outcome outcome;
  try {
    outcome = call.wait();
  } catch (const boost::thread_interrupted&) {
    acquiring->cancel();
    outcome = call.wait_without_interruption();
    if (outcome.contender) outcome.contender->release(kind);
    throw;
  }
  if (outcome.error) throw *outcome.error;
  return std::move(outcome.contender);
}

bool Lockable::lock(const Kind& kind, Deadline deadline, const std::stop_token& stop) {
  const bool recursive = kind.nests && kind.rule.access == Access::exclusive;
  if (recursive && !stop.stop_requested() && !engine_->core().forked() && engine_->lock_again()) {
    return true;
  }
  const auto self = shared_from_this();  // another thread may destroy the mutex meanwhile
  call_at_thread_exit(engine_);
  auto contender = acquire_blocking(
      wanted(kind, Owner::this_thread(), {.deadline = deadline}, count_of_lock(kind)), stop);
  if (!contender) return false;
  if (recursive) engine_->locked(std::move(contender));
  return true;
}

void Lockable::unlock(CountKind count, const char* operation) {
  if (engine_->core().forked()) throw Error(Errc::forked, operation, path());
  if (count == CountKind::lock && engine_->unlock_again()) return;
  if (!engine_->unlock(Owner::this_thread(), count)) {
    throw Error(Errc::not_owner, operation, path());
  }
}

Hold Lockable::acquire(const Kind& kind, const AcquireOptions& options) {
  const auto self = shared_from_this();  // another thread may destroy the mutex meanwhile
  const Owner owner = options.owner.value_or(Owner::this_thread());
  const CountKind count = count_of_hold(kind);
  return hold_of(acquire_blocking(wanted(kind, owner, options, count), options.stop), count);
}

void Lockable::start(const Kind& kind, const AcquireOptions& options,
                     std::function<void(Outcome)> done) {
  engine_->core().check_usable("lock", path());
  const Owner owner = options.owner ? *options.owner : Owner::unique();
  Wanted call = wanted(kind, owner, options, count_of_hold(kind));
  call.done = std::move(done);
  AcquireCall::start(engine_, std::move(call), options.stop);
}

void Lockable::async_acquire(const Kind& kind, const AcquireOptions& options,
                             AcquireHandler handler) {
  engine_->core().check_usable("lock", path());
  // What the handler owns must not die on the threads that bring the outcome: there is one copy,
  // and it moves on to the executor. A task that is never run gives the hold back.
  auto only = std::make_shared<AcquireHandler>(std::move(handler));
  const auto post = [core = engine_->core().shared_from_this(),
                     what = "lock " + path()](std::function<void()> task) {
    Delivery::send(core, core->dispatcher(), what, std::move(task));
  };
  try {
    check(kind, options);
  } catch (const Error& error) {
    post([only = std::move(only), refused = std::make_exception_ptr(error)] {
      (*only)(Hold(), refused);
    });
    return;
  }
  start(kind, options,
        [post, only = std::move(only), count = count_of_hold(kind)](Outcome outcome) mutable {
          auto hold = std::make_shared<Hold>(hold_of(outcome.contender, count));
          post([hold = std::move(hold), only = std::move(only), error = outcome.error] {
            (*only)(std::move(*hold), error ? std::make_exception_ptr(*error) : nullptr);
          });
        });
}

std::future<Hold> Lockable::async_acquire(const Kind& kind, const AcquireOptions& options) {
  auto promise = std::make_shared<std::promise<Hold>>();
  auto future = promise->get_future();
  try {
    start(kind, options, [promise, count = count_of_hold(kind)](Outcome outcome) {
      if (outcome.error) {
        promise->set_exception(std::make_exception_ptr(*outcome.error));
      } else {
        promise->set_value(hold_of(outcome.contender, count));
      }
    });
  } catch (...) {
    promise->set_exception(std::current_exception());
  }
  return future;
}

Awaitable Lockable::co_acquire(Kind kind, AcquireOptions options) {
  return Awaitable([self = shared_from_this(), kind = std::move(kind),
                    options = std::move(options)](AcquireHandler handler) {
    self->async_acquire(kind, options, std::move(handler));
  });
}

core::Ownership Lockable::ownership() const {
  if (engine_->core().forked()) return {};
  return engine_->ownership(Owner::this_thread());
}

}  // namespace zklock::recipes
