// SPDX-License-Identifier: Apache-2.0
#include "zklock/reentrant_mutex.h"

#include <utility>

#include "zklock/recipes/lockable.h"
#include "zklock/recipes/queue_reader.h"

namespace zklock {

using recipes::Lockable;

namespace {

const Lockable::Kind& kind() {
  static const Lockable::Kind exclusive{.rule = core::QueueRule::mutex()};
  return exclusive;
}

}  // namespace

ReentrantMutex::ReentrantMutex(Client& client, std::string path, MutexOptions options)
    : lockable_(Lockable::make(client, std::move(path), std::move(options), {.local = true})) {}

ReentrantMutex::~ReentrantMutex() {
  Lockable::object_destroyed(std::move(lockable_));
}

bool ReentrantMutex::lock_until(Deadline deadline, std::stop_token stop) {
  return lockable_->lock(kind(), deadline, stop);
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
  lockable_->unlock(core::CountKind::lock, "unlock");
}

Hold ReentrantMutex::acquire(AcquireOptions options) {
  return lockable_->acquire(kind(), options);
}

void ReentrantMutex::async_acquire(AcquireOptions options, AcquireHandler handler) {
  lockable_->async_acquire(kind(), options, std::move(handler));
}

std::future<Hold> ReentrantMutex::async_acquire(AcquireOptions options) {
  return lockable_->async_acquire(kind(), options);
}

Awaitable ReentrantMutex::co_acquire(Deadline deadline, std::stop_token stop) {
  return lockable_->co_acquire(kind(), {.deadline = deadline, .stop = std::move(stop)});
}

Awaitable ReentrantMutex::co_acquire(const AcquireOptions& options) {
  return lockable_->co_acquire(kind(), options);
}

bool ReentrantMutex::is_held_by_this_thread() const {
  return hold_count() > 0;
}

int ReentrantMutex::hold_count() const {
  return lockable_->ownership().exclusive_count();
}

std::vector<Participant> ReentrantMutex::participants(Deadline deadline) const {
  return recipes::read_participants(lockable_->shared_engine(), deadline);
}

std::optional<std::size_t> ReentrantMutex::queue_position(std::optional<Owner> owner,
                                                          Deadline deadline) const {
  return recipes::read_position(lockable_->shared_engine(), owner.value_or(Owner::this_thread()),
                                deadline);
}

const std::string& ReentrantMutex::path() const noexcept {
  return lockable_->path();
}

}  // namespace zklock
