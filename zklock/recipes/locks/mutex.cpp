// SPDX-License-Identifier: Apache-2.0
#include "zklock/mutex.h"

#include <algorithm>
#include <deque>

#include "zklock/engine/path_lock.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/engine/session/process.h"
#include "zklock/recipes/locks/forwarders.h"
#include "zklock/recipes/locks/lock_handle.h"

namespace zklock {

using detail::EngineLock;
using detail::LockHandle;

namespace {

LockHandle::Kind kind() {
  return {.rule = core::QueueRule::mutex(), .nests = false};
}

}  // namespace

struct Mutex::State {
  explicit State(std::shared_ptr<LockHandle> made) : lock_handle(std::move(made)) {}

  EngineLock::Entry entry() const noexcept { return lock_handle->path_lock().entry(); }

  const std::shared_ptr<LockHandle> lock_handle;

  // under the engine mutex
  std::deque<Hold> locked;  ///< acquired by lock(), the oldest first
};

Mutex::Mutex(Client& client, std::string path, const CohortOptions& options)
    : state_(std::make_shared<State>(LockHandle::make(client, std::move(path), options))) {}

Mutex::~Mutex() {
  if (state_->lock_handle->path_lock().context().forked()) {
    detail::keep_for_ever(std::move(state_));
    return;
  }
  LockHandle::object_destroyed(state_->lock_handle);
  std::deque<Hold> left;  // released without the mutex
  const EngineLock lock(state_->entry());
  left.swap(state_->locked);
}

bool Mutex::lock_until(Deadline deadline, std::stop_token stop) {
  const auto state = state_;  // another thread may destroy this object meanwhile
  Hold hold = state->lock_handle->acquire(kind(), {.deadline = deadline, .stop = std::move(stop)});
  if (!hold) return false;
  {
    const EngineLock lock(state->entry());
    if (!state->lock_handle->is_destroyed()) {
      state->locked.push_back(std::move(hold));
      return true;
    }
  }
  // It was granted before the destructor ended the call: released.
  throw Error(Errc::closed, "lock", state->lock_handle->path(),
              "the mutex was destroyed meanwhile");
}

ZKLOCK_DEFINE_TIMED_LOCK(Mutex, )
ZKLOCK_DEFINE_ACQUIRING_LOCK(Mutex, , state_->lock_handle, kind())
ZKLOCK_DEFINE_QUEUED_LOCK(Mutex, state_->lock_handle)

void Mutex::unlock() {
  if (state_->lock_handle->path_lock().context().forked())
    throw Error(Errc::forked, "unlock", path());
  Hold hold;  // released without the mutex
  {
    const EngineLock lock(state_->entry());
    auto& locked = state_->locked;
    auto mine = std::ranges::find(locked, Owner::this_thread(), &Hold::owner);
    if (mine == locked.end()) mine = locked.begin();
    if (mine != locked.end()) {
      hold = std::move(*mine);
      locked.erase(mine);
    }
  }
  if (hold) return;
  throw Error(Errc::not_owner, "unlock", path(), "this object does not hold the lock by lock()");
}

bool Mutex::is_locked() const {
  if (state_->lock_handle->path_lock().context().forked())
    return false;  // a fork()ed child holds nothing
  const EngineLock lock(state_->entry());
  return std::ranges::any_of(state_->locked, [](const Hold& hold) { return hold.is_valid(); });
}

std::vector<Participant> Mutex::participants(Deadline deadline) const {
  return state_->lock_handle->participants(deadline);
}

}  // namespace zklock
