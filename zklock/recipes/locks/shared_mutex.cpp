// SPDX-License-Identifier: Apache-2.0
#include "zklock/shared_mutex.h"

#include "zklock/recipes/locks/forwarders.h"
#include "zklock/recipes/locks/lock_handle.h"

namespace zklock {

using core::CountKind;
using detail::LockHandle;

namespace {

LockHandle::Kind write() {
  return {.rule = core::QueueRule::writer()};
}

LockHandle::Kind read() {
  return {.rule = core::QueueRule::reader()};
}

}  // namespace

SharedMutex::SharedMutex(Client& client, std::string path, const ExclusiveOptions& options)
    : lock_handle_(LockHandle::make(client, std::move(path), options)) {}

SharedMutex::~SharedMutex() {
  LockHandle::object_destroyed(std::move(lock_handle_));
}

bool SharedMutex::lock_until(Access access, Deadline deadline, std::stop_token stop) {
  return lock_handle_->lock(access == Access::shared ? read() : write(), deadline, stop);
}

ZKLOCK_DEFINE_TIMED_LOCK(SharedMutex, , Access::exclusive)
ZKLOCK_DEFINE_TIMED_LOCK(SharedMutex, _shared, Access::shared)
ZKLOCK_DEFINE_ACQUIRING_LOCK(SharedMutex, , lock_handle_, write())
ZKLOCK_DEFINE_ACQUIRING_LOCK(SharedMutex, _shared, lock_handle_, read())
ZKLOCK_DEFINE_QUEUED_LOCK(SharedMutex, lock_handle_)

void SharedMutex::unlock() {
  lock_handle_->unlock(CountKind::lock, "unlock");
}

void SharedMutex::unlock_shared() {
  lock_handle_->unlock(CountKind::shared_lock, "unlock shared");
}

int SharedMutex::write_count() const {
  return lock_handle_->ownership().exclusive_count();
}

int SharedMutex::read_count() const {
  const core::Ownership ownership = lock_handle_->ownership();
  return ownership.count() - ownership.exclusive_count();
}

std::vector<Participant> SharedMutex::participants(Deadline deadline) const {
  return lock_handle_->participants(deadline);
}

std::vector<Participant> SharedMutex::writers(Deadline deadline) const {
  auto all = participants(deadline);
  std::erase_if(all, [](const Participant& each) { return each.access == Access::shared; });
  return all;
}

std::vector<Participant> SharedMutex::readers(Deadline deadline) const {
  auto all = participants(deadline);
  std::erase_if(all, [](const Participant& each) { return each.access != Access::shared; });
  return all;
}

}  // namespace zklock
