// SPDX-License-Identifier: Apache-2.0
#include "zklock/semaphore.h"

#include <algorithm>

#include "zklock/recipes/locks/checked_options.h"
#include "zklock/recipes/locks/forwarders.h"
#include "zklock/recipes/locks/lock_handle.h"
#include "zklock/recipes/locks/shared_permit_count.h"

namespace zklock {

using detail::LockHandle;

namespace {

constexpr const char* kMaking = "create the semaphore";

LockHandle::Kind kind(int request, int all, bool shared, const std::string& path) {
  if (auto refusal = detail::refusal_of_permits(request, all, shared, "acquire", path)) {
    return {.refusal = std::move(refusal)};
  }
  return {.rule = core::QueueRule::permits(request, all, shared), .nests = false};
}

int permits_of(const LockHandle& lock_handle, bool shared, int permits,
               const detail::TimeLimit& limit) {
  return shared ? detail::read_permit_count(lock_handle.path_lock(), permits, limit) : permits;
}

}  // namespace

Semaphore::Semaphore(Client& client, std::string path, int permits, const LockOptions& options)
    : shared_(false), permits_(detail::checked_permit_count(permits, false, kMaking, path)) {
  lock_handle_ = LockHandle::make(client, std::move(path), options);
}

Semaphore::Semaphore(Client& client, std::string path, SharedCount permits,
                     const LockOptions& options)
    : shared_(true), permits_(detail::checked_permit_count(permits.initial, true, kMaking, path)) {
  lock_handle_ = LockHandle::make(client, std::move(path), options);
}

Semaphore::~Semaphore() {
  LockHandle::object_destroyed(std::move(lock_handle_));
}

ZKLOCK_DEFINE_ACQUIRING_LOCK(Semaphore, , lock_handle_, kind(permits, permits_, shared_, path()),
                             int permits)
ZKLOCK_DEFINE_QUEUED_LOCK(Semaphore, lock_handle_)

Permit Semaphore::try_acquire(int permits) {
  return acquire({.deadline = Deadline::passed()}, permits);
}

std::vector<Participant> Semaphore::participants(Deadline deadline) const {
  const auto limit = lock_handle_->time_limit(deadline);
  const int all = permits_of(*lock_handle_, shared_, permits_, limit);
  return lock_handle_->participants(limit, shared_ ? all : 0);
}

int Semaphore::available_permits(Deadline deadline) const {
  const auto limit = lock_handle_->time_limit(deadline);
  int free = permits_of(*lock_handle_, shared_, permits_, limit);
  for (const Participant& each : lock_handle_->participants(limit, free)) {
    free -= each.access == Access::permits ? std::min(each.permits, free) : free;
  }
  return free;
}

int Semaphore::permits(Deadline deadline) const {
  return permits_of(*lock_handle_, shared_, permits_, lock_handle_->time_limit(deadline));
}

void Semaphore::check_shared(const char* operation) const {
  if (shared_) return;
  throw Error(Errc::invalid_option, operation, path(),
              "the semaphore has a fixed number of permits");
}

void Semaphore::set_permits(int permits, Deadline deadline) {
  constexpr const char* kOperation = "set the permits of";
  check_shared(kOperation);
  detail::checked_permit_count(permits, true, kOperation, path());
  detail::set_permit_count(lock_handle_->path_lock(), permits, lock_handle_->time_limit(deadline));
}

int Semaphore::add_permits(int change, Deadline deadline) {
  check_shared("add permits to");
  return detail::add_to_permit_count(lock_handle_->path_lock(), change, permits_,
                                     lock_handle_->time_limit(deadline));
}

}  // namespace zklock
