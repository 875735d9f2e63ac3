// SPDX-License-Identifier: Apache-2.0
#include "zklock/mutex.h"

#include <algorithm>
#include <utility>

#include "zklock/recipes/lockable.h"
#include "zklock/recipes/queue_reader.h"

namespace zklock {

using recipes::Lockable;

namespace {

Lockable::Kind kind() {
  return {.rule = core::QueueRule::mutex(), .nests = false};
}

}  // namespace

Mutex::Mutex(Client& client, std::string path, MutexOptions options)
    : lockable_(Lockable::make(client, std::move(path), std::move(options))) {}

Mutex::~Mutex() {
  Lockable::object_destroyed(std::move(lockable_));
}

bool Mutex::lock_until(Deadline deadline, std::stop_token stop) {
  const auto lockable = lockable_;  // another thread may destroy this object meanwhile
  Hold hold = lockable->acquire(kind(), {.deadline = deadline, .stop = std::move(stop)});
  if (!hold) return false;
  const std::lock_guard guard(mutex_);
  locked_.push_back(std::move(hold));
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
  if (lockable_->engine().core().forked()) throw Error(Errc::forked, "unlock", path());
  Hold hold;
  {
    const std::lock_guard guard(mutex_);
    if (locked_.empty()) throw Error(Errc::not_owner, "unlock", path());
    auto mine = std::ranges::find(locked_, Owner::this_thread(), &Hold::owner);
    if (mine == locked_.end()) mine = locked_.begin();
    hold = std::move(*mine);
    locked_.erase(mine);
  }
}

Hold Mutex::acquire(AcquireOptions options) {
  return lockable_->acquire(kind(), options);
}

void Mutex::async_acquire(AcquireOptions options, AcquireHandler handler) {
  lockable_->async_acquire(kind(), options, std::move(handler));
}

std::future<Hold> Mutex::async_acquire(AcquireOptions options) {
  return lockable_->async_acquire(kind(), options);
}

Awaitable Mutex::co_acquire(AcquireOptions options) {
  return lockable_->co_acquire(kind(), std::move(options));
}

bool Mutex::is_locked() const {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(locked_,
                             [](const Hold& hold) { return hold.state() != HoldState::lost; });
}

std::vector<Participant> Mutex::participants(Deadline deadline) const {
  return recipes::read_participants(lockable_->shared_engine(), deadline);
}

const std::string& Mutex::path() const noexcept {
  return lockable_->path();
}

}  // namespace zklock
