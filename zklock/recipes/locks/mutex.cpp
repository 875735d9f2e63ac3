// SPDX-License-Identifier: Apache-2.0
#include "zklock/mutex.h"

#include <algorithm>
#include <deque>

#include "zklock/client/port/mutex.h"
#include "zklock/engine/session/fork_guard.h"
#include "zklock/recipes/locks/lock_handle.h"

namespace zklock {

using detail::LockHandle;

namespace {

LockHandle::Kind kind() {
  return {.rule = core::QueueRule::mutex(), .nests = false};
}

}  // namespace

struct Mutex::State {
  explicit State(std::shared_ptr<LockHandle> made) : lock_handle(std::move(made)) {}

  const std::shared_ptr<LockHandle> lock_handle;
  client::Mutex mutex;
  std::deque<Hold> locked ZKLOCK_GUARDED_BY(mutex);  ///< acquired by lock(), the oldest first
  bool destroyed ZKLOCK_GUARDED_BY(mutex) = false;   ///< the public object is destroyed
};

Mutex::Mutex(Client& client, std::string path, const CohortOptions& options)
    : state_(std::make_shared<State>(LockHandle::make(client, std::move(path), options))) {}

Mutex::~Mutex() {
  if (state_->lock_handle->path_lock().core().forked()) {
    // Its mutex may be locked by a thread that does not exist in the fork()ed child.
    detail::keep_for_ever(std::move(state_));
    return;
  }
  std::deque<Hold> left;
  {
    const client::MutexLock guard(state_->mutex);
    state_->destroyed = true;
    left.swap(state_->locked);
  }
  LockHandle::object_destroyed(state_->lock_handle);
}

bool Mutex::lock_until(Deadline deadline, std::stop_token stop) {
  const auto state = state_;  // another thread may destroy this object meanwhile
  Hold hold = state->lock_handle->acquire(kind(), {.deadline = deadline, .stop = std::move(stop)});
  if (!hold) return false;
  const client::MutexLock guard(state->mutex);
  if (state->destroyed) {  // granted before the destructor ended the call: released
    throw Error(Errc::closed, "lock", state->lock_handle->path(),
                "the mutex was destroyed meanwhile");
  }
  state->locked.push_back(std::move(hold));
  return true;
}

void Mutex::lock() {
  lock_until(Deadline::never(), {});
}

bool Mutex::lock(std::stop_token stop) {
  return lock_until(Deadline::never(), std::move(stop));
}

bool Mutex::try_lock() {
  return lock_until(Deadline::passed(), {});
}

void Mutex::unlock() {
  if (state_->lock_handle->path_lock().core().forked()) throw Error(Errc::forked, "unlock", path());
  Hold hold;
  {
    const client::MutexLock guard(state_->mutex);
    if (state_->locked.empty()) {
      throw Error(Errc::not_owner, "unlock", path(),
                  "this object does not hold the lock by lock()");
    }
    auto mine = std::ranges::find(state_->locked, Owner::this_thread(), &Hold::owner);
    if (mine == state_->locked.end()) mine = state_->locked.begin();
    hold = std::move(*mine);
    state_->locked.erase(mine);
  }
}

Hold Mutex::acquire(AcquireOptions options) {
  return state_->lock_handle->acquire(kind(), options);
}

void Mutex::async_acquire(AcquireOptions options, AcquireHandler handler) {
  state_->lock_handle->async_acquire(kind(), options, std::move(handler));
}

std::future<Hold> Mutex::async_acquire(AcquireOptions options) {
  return state_->lock_handle->async_acquire(kind(), options);
}

Awaitable Mutex::co_acquire(Deadline deadline, std::stop_token stop) {
  return state_->lock_handle->co_acquire(kind(), {.deadline = deadline, .stop = std::move(stop)});
}

Awaitable Mutex::co_acquire(const AcquireOptions& options) {
  return state_->lock_handle->co_acquire(kind(), options);
}

bool Mutex::is_locked() const {
  if (state_->lock_handle->path_lock().core().forked())
    return false;  // a fork()ed child holds nothing
  const client::MutexLock guard(state_->mutex);
  return std::ranges::any_of(state_->locked, [](const Hold& hold) { return hold.is_valid(); });
}

std::vector<Participant> Mutex::participants(Deadline deadline) const {
  return state_->lock_handle->participants(deadline);
}

std::optional<std::size_t> Mutex::queue_position(std::optional<Owner> owner,
                                                 Deadline deadline) const {
  return state_->lock_handle->queue_position(owner, deadline);
}

const std::string& Mutex::path() const noexcept {
  return state_->lock_handle->path();
}

}  // namespace zklock
