// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "conformance/lock_test.h"

namespace zklock::testing {

// The grant of a class under the suite: its Hold or a similar type. Every call goes to that object,
// also a move. So a moved-from Grant holds the moved-from object of the class.
class Grant {
 public:
  template <class G>
  explicit Grant(G grant) : any_(std::make_unique<Of<G>>(std::move(grant))) {}
  Grant(Grant&& other) noexcept : any_(other.any_->moved()) {}
  Grant& operator=(Grant&& other) noexcept {
    any_->take(*other.any_);
    return *this;
  }
  ~Grant() = default;

  explicit operator bool() const { return any_->granted(); }
  FencingToken token() const { return any_->token(); }
  // The znode on an ensemble. If a lock has several, it is the one that others queue behind.
  std::string node(std::size_t ensemble = 0) const { return any_->node(ensemble); }
  bool holds_on(std::size_t ensemble) const { return any_->holds_on(ensemble); }
  HoldState state() const { return any_->state(); }
  std::stop_token loss_token() const { return any_->loss_token(); }
  // Nothing also for a lock of several locks, which reports no reason.
  std::optional<LossReason> loss_reason() const { return any_->loss_reason(); }
  // Stopped by a request on that ensemble.
  std::stop_token release_request_token(std::size_t ensemble = 0) const {
    return any_->release_request_token(ensemble);
  }
  LeaseClock::time_point valid_until() const { return any_->valid_until(); }
  // REQUIRES: LockAdapter::named.
  Owner owner() const { return any_->owner(); }
  // Guarded by all that is held on the first ensemble.
  GuardedTransaction guarded() const { return any_->guarded(); }
  // REQUIRES: LockAdapter::calls.
  LockState blocked_by(Deadline deadline) const { return any_->blocked_by(deadline); }
  // Renews for `length`, or for the last length. REQUIRES: LockAdapter::calls.
  bool renew(std::optional<std::chrono::milliseconds> length = std::nullopt) {
    return any_->renew(length);
  }
  // REQUIRES: LockAdapter::leads.
  void proclaim(const std::string& value) const { any_->proclaim(value); }
  void release() { any_->release(); }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual std::unique_ptr<Any> moved() = 0;
    virtual void take(Any& other) = 0;
    virtual bool granted() const = 0;
    virtual FencingToken token() const = 0;
    virtual std::string node(std::size_t ensemble) const = 0;
    virtual bool holds_on(std::size_t ensemble) const = 0;
    virtual HoldState state() const = 0;
    virtual std::stop_token loss_token() const = 0;
    virtual std::optional<LossReason> loss_reason() const = 0;
    virtual std::stop_token release_request_token(std::size_t ensemble) const = 0;
    virtual LeaseClock::time_point valid_until() const = 0;
    virtual Owner owner() const = 0;
    virtual GuardedTransaction guarded() const = 0;
    virtual LockState blocked_by(Deadline deadline) const = 0;
    virtual bool renew(std::optional<std::chrono::milliseconds> length) = 0;
    virtual void proclaim(const std::string& value) const = 0;
    virtual void release() = 0;
  };
  template <class G>
  struct Of;

  std::unique_ptr<Any> any_;
};

// The future of a Grant.
struct GrantFuture {
  std::function<Grant()> get;
  std::function<bool()> is_ready;
};
inline Grant get(GrantFuture& future) {
  return future.get();
}
inline bool is_ready(const GrantFuture& future) {
  return future.is_ready();
}

// A lock of a class under the suite. Its calls have the contracts of ReentrantMutex.
class SuiteLock {
 public:
  using Handler = std::function<void(Grant, std::exception_ptr)>;

  SuiteLock() = default;
  virtual ~SuiteLock() = default;
  SuiteLock(const SuiteLock&) = delete;
  SuiteLock& operator=(const SuiteLock&) = delete;

  virtual Grant acquire(AcquireOptions options) = 0;
  virtual GrantFuture async_acquire(AcquireOptions options) = 0;
  virtual void async_acquire(AcquireOptions options, Handler handler) = 0;
  // Acquires as the rival adapter, which equals this one except for readers.
  virtual Grant rival_acquire(AcquireOptions options) = 0;
  virtual GrantFuture rival_async_acquire(AcquireOptions options) = 0;
  virtual std::vector<Participant> participants() const = 0;
  // REQUIRES: LockAdapter::has_position.
  virtual std::optional<std::size_t> queue_position(const Owner& owner) const = 0;

  // Throw std::logic_error unless LockAdapter::has_lock.
  virtual void lock() { no_lock(); }
  virtual bool lock_or_stop(std::stop_token) { no_lock(); }
  virtual bool lock_until(Deadline) { no_lock(); }
  virtual bool try_lock() { no_lock(); }
  virtual void unlock() { no_lock(); }
  virtual bool is_locked() const { no_lock(); }

 private:
  [[noreturn]] static void no_lock() { throw std::logic_error("it has no lock()"); }
};

}  // namespace zklock::testing
