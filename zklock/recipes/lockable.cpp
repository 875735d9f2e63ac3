// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/lockable.h"

#include <utility>

#include "zklock/recipes/acquire_call.h"
#include "zklock/recipes/call_faces.h"
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

/// Returns whether nested lock() calls of this kind are counted in Recursion.
bool is_recursive(const Lockable::Kind& kind) noexcept {
  return kind.nests && kind.rule.access == Access::exclusive;
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

std::shared_ptr<Contender> Lockable::acquire_blocking(Wanted wanted, const std::stop_token& stop) {
  engine_->core().check_usable("lock", path());
  const CountKind kind = wanted.kind;
  wanted.blocks = true;
  Outcome outcome = wait_or_cancel<Outcome>(
      [&](auto done) {
        wanted.done = std::move(done);
        return AcquireCall::start(engine_, std::move(wanted), stop);
      },
      [kind](const Outcome& late) {
        if (late.contender) late.contender->release(kind);
      });
  if (outcome.error) throw *outcome.error;
  return std::move(outcome.contender);
}

bool Lockable::lock(const Kind& kind, Deadline deadline, const std::stop_token& stop) {
  if (is_recursive(kind) && !stop.stop_requested() && !engine_->core().forked() &&
      engine_->lock_again()) {
    return true;
  }
  return lock_anew(kind, deadline, stop);  // apart: a nested lock() needs no stack frame for it
}

bool Lockable::lock_anew(const Kind& kind, Deadline deadline, const std::stop_token& stop) {
  const auto self = shared_from_this();  // another thread may destroy the mutex meanwhile
  call_at_thread_exit(engine_);
  auto contender = acquire_blocking(
      wanted(kind, Owner::this_thread(), {.deadline = deadline}, count_of_lock(kind)), stop);
  if (!contender) return false;
  if (is_recursive(kind)) engine_->locked(std::move(contender));
  return true;
}

void Lockable::unlock(CountKind count, const char* operation) {
  if (!engine_->core().forked() && count == CountKind::lock && engine_->unlock_again()) return;
  unlock_last(count, operation);  // apart, as in lock()
}

void Lockable::unlock_last(CountKind count, const char* operation) {
  if (engine_->core().forked()) throw Error(Errc::forked, operation, path());
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
  auto end = for_handler(std::move(handler), [engine = engine_](std::function<void()> task) {
    ClientCore& core = engine->core();
    Delivery::send(core.shared_from_this(), core.dispatcher(), "lock " + engine->path().str(),
                   std::move(task));
  });
  try {
    check(kind, options);
  } catch (const Error& error) {
    return end(std::make_exception_ptr(error), Hold());
  }
  start(kind, options,
        [end = std::move(end), count = count_of_hold(kind)](const Outcome& outcome) mutable {
          end(thrown(outcome.error), hold_of(outcome.contender, count));
        });
}

std::future<Hold> Lockable::async_acquire(const Kind& kind, const AcquireOptions& options) {
  return as_future<Hold>([&](auto end) {
    start(kind, options, [end, count = count_of_hold(kind)](const Outcome& outcome) {
      end(thrown(outcome.error), hold_of(outcome.contender, count));
    });
  });
}

Awaitable Lockable::co_acquire(Kind kind, AcquireOptions options) {
  return Awaitable(
      [self = shared_from_this(), kind = std::move(kind), options = std::move(options)](
          AcquireHandler handler, std::stop_token abandoned) {
        AcquireOptions until_abandoned = options;
        handler = stopped_also_by(std::move(abandoned), until_abandoned, std::move(handler));
        self->async_acquire(kind, until_abandoned, std::move(handler));
      });
}

core::Ownership Lockable::ownership() const {
  if (engine_->core().forked()) return {};
  return engine_->ownership(Owner::this_thread());
}

}  // namespace zklock::recipes
