// SPDX-License-Identifier: Apache-2.0
#include "zklock/reentrant_mutex.h"

#include "zklock/recipes/locks/forwarders.h"
#include "zklock/recipes/locks/lock_handle.h"

namespace zklock {

using detail::LockHandle;

namespace {

const LockHandle::Kind& exclusive_kind() {
  static const LockHandle::Kind kExclusive{.rule = core::QueueRule::mutex()};
  return kExclusive;
}

}  // namespace

ReentrantMutex::ReentrantMutex(Client& client, std::string path, const CohortOptions& options)
    : lock_handle_(LockHandle::make(client, std::move(path), options)) {}

ReentrantMutex::~ReentrantMutex() {
  LockHandle::object_destroyed(std::move(lock_handle_));
}

bool ReentrantMutex::lock_until(Deadline deadline, std::stop_token stop) {
  return lock_handle_->lock(exclusive_kind(), deadline, stop);
}

void ReentrantMutex::lock() {
  lock_handle_->lock(exclusive_kind(), Deadline::never(), {});
}

bool ReentrantMutex::lock(std::stop_token stop) {
  return lock_until(Deadline::never(), std::move(stop));
}

bool ReentrantMutex::try_lock() {
  return lock_until(Deadline::passed(), {});
}

void ReentrantMutex::unlock() {
  lock_handle_->unlock(core::CountKind::lock, "unlock");
}

ZKLOCK_DEFINE_ACQUIRING_LOCK(ReentrantMutex, , lock_handle_, exclusive_kind())
ZKLOCK_DEFINE_QUEUED_LOCK(ReentrantMutex, lock_handle_)

bool ReentrantMutex::is_held_by_this_thread() const {
  return hold_count() > 0;
}

int ReentrantMutex::hold_count() const {
  return lock_handle_->ownership().exclusive_count();
}

std::vector<Participant> ReentrantMutex::participants(Deadline deadline) const {
  return lock_handle_->participants(deadline);
}

}  // namespace zklock
