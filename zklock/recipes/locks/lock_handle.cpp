// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/locks/lock_handle.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "zklock/engine/callback/completion.h"
#include "zklock/engine/callback/post_or_run.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/queue_reader.h"
#include "zklock/recipes/locks/checked_options.h"

namespace zklock::detail {

namespace {

using core::CountKind;

/// Returns whether nested lock() calls of this kind are counted in ReentryCounter.
bool is_recursive(const LockHandle::Kind& kind) noexcept {
  return kind.nests && kind.rule.access == Access::exclusive;
}

/// Registers a blocking call with the DeadlockDetector of its client while it exists. `call.path`
/// outlives this object.
class DeadlockWait {
 public:
  DeadlockWait(EngineContext& context, BlockedCall call) : context_(context) {
    const EngineLock lock({context_});
    key_ = context_.records().deadlocks.add(std::move(call));
  }
  ~DeadlockWait() {
    const EngineLock lock({context_});
    context_.records().deadlocks.remove(key_);
  }
  DeadlockWait(const DeadlockWait&) = delete;
  DeadlockWait& operator=(const DeadlockWait&) = delete;

  std::optional<Deadlock> find() const {
    const EngineLock lock({context_});
    return context_.records().deadlocks.find(key_);
  }

 private:
  EngineContext& context_;
  DeadlockDetector::WaitKey key_{Owner::this_thread(), 0};
};

/// Looks for a cycle of waiting threads that the wait closes. Blocks until the znodes of its
/// contenders exist, but not beyond the end of the call: before, a refused create could end a wait.
/// If the cycle is certain, fails the call with Error(would_deadlock), otherwise logs a warning.
void look_for_cycle(PathLock& path_lock, BlockingCall<AcquireOutcome>& end, PendingAcquire& call,
                    const DeadlockWait& wait) {
  core::Duration pause = std::chrono::milliseconds(1);
  auto cycle = wait.find();
  for (; cycle && !cycle->is_settled; cycle = wait.find()) {
    if (end.wait_for_result(pause)) return;
    pause = std::min<core::Duration>(2 * pause, std::chrono::seconds(1));
  }
  if (cycle && cycle->is_certain) {
    call.fail(Error(Errc::would_deadlock, "lock", path_lock.path().str(), cycle->text));
  } else if (cycle) {
    path_lock.warn("possible deadlock: " + cycle->text);
  }
}

/// Blocks until the end of the call. Returns null if it was not granted. Throws its Error.
std::shared_ptr<Contender> wait_for_grant(const std::shared_ptr<PathLock>& path_lock,
                                          BlockingCall<AcquireOutcome>& end, PendingAcquire& call,
                                          BlockedCall blocked) {
  const auto give_back = [&](const AcquireOutcome& late) {
    // Access::permits: whatever the call has acquired.
    if (late.contender) {
      path_lock->unlock(late.contender->key(), call.kind(), Access::permits);
    }
  };
  std::optional<DeadlockWait> wait;
  AcquireOutcome outcome = wait_or_cancel(end, call, give_back, [&] {
    if (!call.had_local_rival() || !call.time_limit().is_endless() || call.has_ended()) return;
    wait.emplace(path_lock->context(), std::move(blocked));
    look_for_cycle(*path_lock, end, call, *wait);
  });
  if (outcome.error) throw *outcome.error;
  return std::move(outcome.contender);
}

}  // namespace

std::shared_ptr<LockHandle> LockHandle::make(Client& client, std::string path,
                                             const CohortOptions& options) {
  return std::make_shared<LockHandle>(
      ClientCore::of(client)->usable_path_lock("lock", std::move(path)), options);
}

LockHandle::LockHandle(std::shared_ptr<PathLock> path_lock, const CohortOptions& options)
    : path_lock_(std::move(path_lock)),
      queue_again_(options.on_node_lost == OnNodeLost::queue_again),
      limit_(checked_limit(options, path_lock_->path().str())),
      lock_delay_(checked_delay(options.lock_delay, path_lock_->path().str())),
      cohort_policy_(checked_cohort_policy(options, path_lock_->path().str())),
      listener_(make_listener(path_lock_->context(), options)),
      texts_(CallTexts::of_object(options.label)),
      metrics_(path_lock_->context().metrics_of(options.label)) {
  path_lock_->attach();
}

LockHandle::~LockHandle() {
  if (!path_lock_->context().forked()) return;
  // Their destructors lock a mutex, which a thread that does not exist in the child may hold.
  keep_for_ever(listener_);
  keep_for_ever(std::move(path_lock_));
}

void LockHandle::object_destroyed(std::shared_ptr<LockHandle> lock_handle) noexcept {
  PathLock& path_lock = *lock_handle->path_lock_;
  if (path_lock.context().forked()) return keep_for_ever(std::move(lock_handle));
  *lock_handle->destroyed_ = true;
  path_lock.cancel_all(lock_handle->destroyed_.get());
  path_lock.detach();
  if (lock_handle->listener_) lock_handle->listener_->remove();
}

void LockHandle::check(const Kind& kind, const AcquireOptions& options) const {
  if (kind.refusal) throw *kind.refusal;
  checked_limit(limit_, options.max_hold, path());
}

AcquireRequest LockHandle::request(const Kind& kind, Owner owner, const AcquireOptions& options,
                                   CountKind count_kind) const {
  check(kind, options);
  return {.owner = kind.nests ? owner : Owner::unique(),
          .on_behalf_of = owner,
          .rule = kind.rule,
          .gate = kind.gate,
          .time_limit = time_limit(options.deadline),
          .kind = count_kind,
          .queue_again = queue_again_,
          .object = destroyed_,
          .limit = checked_limit(limit_, options.max_hold, path()),
          .event_sink = LockEventSink(listener_),
          .lock_delay = lock_delay_,
          .cohort_policy = cohort_policy_,
          .metrics = {&metrics_},
          .texts = CallTexts::of_call(texts_, options.note)};
}

AcquireRequest LockHandle::blocking_request(const Kind& kind, Owner owner,
                                            const AcquireOptions& options, CountKind count_kind,
                                            BlockingCall<AcquireOutcome>& end) const {
  path_lock_->context().check_usable("lock", path());
  AcquireRequest blocking = request(kind, owner, options, count_kind);
  blocking.blocks = true;
  blocking.done = [&end](AcquireOutcome outcome) { end.set(std::move(outcome)); };
  return blocking;
}

bool LockHandle::lock(const Kind& kind, Deadline deadline, const std::stop_token& stop) {
  if (is_recursive(kind) && !stop.stop_requested() && !path_lock_->context().forked() &&
      path_lock_->lock_nested()) {
    return true;
  }
  // A function of its own: a nested lock() needs no stack frame for it.
  return lock_by_acquire(kind, deadline, stop);
}

bool LockHandle::lock_by_acquire(const Kind& kind, Deadline deadline, const std::stop_token& stop) {
  const auto self = shared_from_this();  // another thread may destroy the mutex meanwhile
  call_at_thread_exit(path_lock_);
  BlockingCall<AcquireOutcome> end;
  const Owner owner = Owner::this_thread();
  AcquireRequest blocking = blocking_request(kind, owner, {.deadline = deadline},
                                             kind.rule.count_kind(CountKind::lock), end);
  if (is_recursive(kind)) blocking.reentrant_thread = ReentryCounter::this_thread();
  const bool ends_by_grant_only = !stop.stop_possible() && !limit_.longest;
  blocking.bound = deadline.is_never() && ends_by_grant_only && !cohort_policy_.shares();
  BlockedCall blocked{owner, blocking.owner, path_lock_, ends_by_grant_only};
  const auto call = PendingAcquire::start(path_lock_, std::move(blocking), stop);
  return wait_for_grant(path_lock_, end, *call, std::move(blocked)) != nullptr;
}

void LockHandle::unlock(CountKind count_kind, const char* operation) {
  if (!path_lock_->context().forked() && count_kind == CountKind::lock &&
      path_lock_->unlock_nested())
    return;
  if (path_lock_->context().forked()) throw Error(Errc::forked, operation, path());
  if (!path_lock_->unlock(Owner::this_thread(), count_kind)) {
    path_lock_->refuse_unlock(Owner::this_thread(), count_kind, operation);
  }
}

Hold LockHandle::acquire(const Kind& kind, const AcquireOptions& options) {
  const auto self = shared_from_this();  // another thread may destroy the mutex meanwhile
  const Owner owner = options.owner.value_or(Owner::this_thread());
  const CountKind count_kind = kind.rule.count_kind(CountKind::hold);
  BlockingCall<AcquireOutcome> end;
  AcquireRequest blocking = blocking_request(kind, owner, options, count_kind, end);
  BlockedCall blocked{owner, blocking.owner, path_lock_};
  const auto call = PendingAcquire::start(path_lock_, std::move(blocking), options.stop);
  const auto contender = wait_for_grant(path_lock_, end, *call, std::move(blocked));
  return contender ? contender->make_hold(count_kind) : refused(path_lock_);
}

template <class End>
void LockHandle::start(const Kind& kind, const AcquireOptions& options, End end) {
  path_lock_->context().check_usable("lock", path());
  const Owner owner = options.owner ? *options.owner : Owner::unique();
  AcquireRequest call = request(kind, owner, options, kind.rule.count_kind(CountKind::hold));
  call.done = [end = std::move(end), count_kind = call.kind,
               path_lock = path_lock_](const AcquireOutcome& outcome) mutable {
    end(as_exception(outcome.error),
        outcome.contender ? outcome.contender->make_hold(count_kind) : refused(path_lock));
  };
  PendingAcquire::start(path_lock_, std::move(call), options.stop);
}

void LockHandle::async_acquire(const Kind& kind, const AcquireOptions& options,
                               AcquireHandler handler) {
  path_lock_->context().check_usable("lock", path());
  auto end = for_handler(std::move(handler), [path_lock = path_lock_](std::function<void()> task) {
    EngineContext& context = path_lock->context();
    post_or_run(context.shared_from_this(), context.dispatcher(), std::move(task));
  });
  try {
    check(kind, options);
  } catch (const Error& error) {
    return end(std::make_exception_ptr(error), Hold());
  }
  start(kind, options, std::move(end));
}

std::future<Hold> LockHandle::async_acquire(const Kind& kind, const AcquireOptions& options) {
  return as_future<Hold>([&](auto end) { start(kind, options, std::move(end)); });
}

Awaitable LockHandle::co_acquire(Kind kind, AcquireOptions options) {
  return Awaitable(
      [self = shared_from_this(), kind = std::move(kind), options = std::move(options)](
          AcquireHandler handler, std::stop_token abandoned) {
        AcquireOptions until_abandoned = options;
        handler = with_second_stop_token(std::move(abandoned), until_abandoned, std::move(handler));
        self->async_acquire(kind, until_abandoned, std::move(handler));
      });
}

core::Ownership LockHandle::ownership() const {
  if (path_lock_->context().forked()) return {};
  return path_lock_->ownership(Owner::this_thread());
}

std::vector<Participant> LockHandle::participants(const TimeLimit& limit,
                                                  std::int32_t total_permits) const {
  return read_participants(path_lock_, limit, total_permits);
}

std::optional<std::size_t> LockHandle::queue_position(std::optional<Owner> owner,
                                                      Deadline deadline) const {
  return read_position(path_lock_, owner.value_or(Owner::this_thread()), time_limit(deadline));
}

}  // namespace zklock::detail
