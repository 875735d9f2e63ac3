// SPDX-License-Identifier: Apache-2.0
#include "zklock/shared_mutex.h"

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

void SharedMutex::lock() {
  lock_until(Access::exclusive, Deadline::never(), {});
}

bool SharedMutex::lock(std::stop_token stop) {
  return lock_until(Access::exclusive, Deadline::never(), std::move(stop));
}

bool SharedMutex::try_lock() {
  return lock_until(Access::exclusive, Deadline::passed(), {});
}

void SharedMutex::unlock() {
  lock_handle_->unlock(CountKind::lock, "unlock");
}

void SharedMutex::lock_shared() {
  lock_until(Access::shared, Deadline::never(), {});
}

bool SharedMutex::lock_shared(std::stop_token stop) {
  return lock_until(Access::shared, Deadline::never(), std::move(stop));
}

bool SharedMutex::try_lock_shared() {
  return lock_until(Access::shared, Deadline::passed(), {});
}

void SharedMutex::unlock_shared() {
  lock_handle_->unlock(CountKind::shared_lock, "unlock shared");
}

Hold SharedMutex::acquire(AcquireOptions options) {
  return lock_handle_->acquire(write(), options);
}

void SharedMutex::async_acquire(AcquireOptions options, AcquireHandler handler) {
  lock_handle_->async_acquire(write(), options, std::move(handler));
}

std::future<Hold> SharedMutex::async_acquire(AcquireOptions options) {
  return lock_handle_->async_acquire(write(), options);
}

Awaitable SharedMutex::co_acquire(Deadline deadline, std::stop_token stop) {
  return lock_handle_->co_acquire(write(), {.deadline = deadline, .stop = std::move(stop)});
}

Awaitable SharedMutex::co_acquire(const AcquireOptions& options) {
  return lock_handle_->co_acquire(write(), options);
}

Hold SharedMutex::acquire_shared(AcquireOptions options) {
  return lock_handle_->acquire(read(), options);
}

void SharedMutex::async_acquire_shared(AcquireOptions options, AcquireHandler handler) {
  lock_handle_->async_acquire(read(), options, std::move(handler));
}

std::future<Hold> SharedMutex::async_acquire_shared(AcquireOptions options) {
  return lock_handle_->async_acquire(read(), options);
}

Awaitable SharedMutex::co_acquire_shared(Deadline deadline, std::stop_token stop) {
  return lock_handle_->co_acquire(read(), {.deadline = deadline, .stop = std::move(stop)});
}

Awaitable SharedMutex::co_acquire_shared(const AcquireOptions& options) {
  return lock_handle_->co_acquire(read(), options);
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

std::optional<std::size_t> SharedMutex::queue_position(std::optional<Owner> owner,
                                                       Deadline deadline) const {
  return lock_handle_->queue_position(owner, deadline);
}

const std::string& SharedMutex::path() const noexcept {
  return lock_handle_->path();
}

}  // namespace zklock
