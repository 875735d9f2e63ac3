// SPDX-License-Identifier: Apache-2.0
#include "zklock/semaphore.h"

#include <algorithm>
#include <utility>

#include "zklock/recipes/lockable.h"
#include "zklock/recipes/queue_reader.h"

namespace zklock {

using recipes::Lockable;

namespace {

int checked(int permits, const std::string& path) {
  if (permits >= 1) return permits;
  throw Error(Errc::invalid_option, "make the semaphore", path,
              "it must have at least one permit, not " + std::to_string(permits));
}

Lockable::Kind kind(int wanted, int all, const std::string& path) {
  if (wanted < 1 || wanted > all) {
    return {.refusal = Error(Errc::invalid_option, "acquire", path,
                             "from 1 to " + std::to_string(all) + " permits can be had, not " +
                                 std::to_string(wanted))};
  }
  return {.rule = core::QueueRule::permits(wanted, all, false), .nests = false};
}

}  // namespace

Semaphore::Semaphore(Client& client, std::string path, int permits, MutexOptions options)
    : permits_(checked(permits, path)) {
  lockable_ = Lockable::make(client, std::move(path), std::move(options));
}

Semaphore::~Semaphore() {
  Lockable::object_destroyed(std::move(lockable_));
}

Permit Semaphore::acquire(int permits, AcquireOptions options) {
  return lockable_->acquire(kind(permits, permits_, path()), options);
}

Permit Semaphore::try_acquire(int permits) {
  return acquire(permits, {.deadline = Deadline::passed()});
}

void Semaphore::async_acquire(int permits, AcquireOptions options, AcquireHandler handler) {
  lockable_->async_acquire(kind(permits, permits_, path()), options, std::move(handler));
}

std::future<Permit> Semaphore::async_acquire(int permits, AcquireOptions options) {
  return lockable_->async_acquire(kind(permits, permits_, path()), options);
}

Awaitable Semaphore::co_acquire(int permits, AcquireOptions options) {
  return lockable_->co_acquire(kind(permits, permits_, path()), std::move(options));
}

std::vector<Participant> Semaphore::participants(Deadline deadline) const {
  return recipes::read_participants(lockable_->shared_engine(), deadline);
}

int Semaphore::available_permits(Deadline deadline) const {
  int free = permits_;
  for (const Participant& each : participants(deadline)) {
    free -= each.access == Access::permits ? std::min(each.permits, free) : free;
  }
  return free;
}

const std::string& Semaphore::path() const noexcept {
  return lockable_->path();
}

}  // namespace zklock
