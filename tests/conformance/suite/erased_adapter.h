// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "conformance/suite/lock_adapters.h"
#include "conformance/suite/suite_lock.h"

namespace zklock::testing {

// Connects the adapters, which are types, with the tests, which are compiled once. This file is
// compiled for each adapter, so it contains only forwarding functions.

template <class G>
struct Grant::Of final : Grant::Any {
  explicit Of(G grant) : grant_(std::move(grant)) {}

  std::unique_ptr<Any> moved() override { return std::make_unique<Of>(std::move(grant_)); }
  void take(Any& other) override { grant_ = std::move(dynamic_cast<Of&>(other).grant_); }
  bool granted() const override { return static_cast<bool>(grant_); }
  FencingToken token() const override { return grant_.token(); }
  std::string node(std::size_t ensemble) const override {
    if constexpr (requires { grant_.node(ensemble); }) {
      return grant_.node(ensemble);
    } else {
      check_is_first(ensemble);
      return grant_.node();
    }
  }
  bool holds_on(std::size_t ensemble) const override {
    if constexpr (requires { grant_.holds_on(ensemble); }) {
      return grant_.holds_on(ensemble);
    } else {
      check_is_first(ensemble);
      return granted();
    }
  }
  HoldState state() const override { return grant_.state(); }
  std::stop_token loss_token() const override { return grant_.loss_token(); }
  std::optional<LossReason> loss_reason() const override {
    if constexpr (requires { grant_.loss_reason(); }) {
      return grant_.loss_reason();
    } else {
      return std::nullopt;
    }
  }
  std::stop_token release_request_token(std::size_t ensemble) const override {
    if constexpr (requires { grant_.release_request_token(ensemble); }) {
      return grant_.release_request_token(ensemble);
    } else {
      check_is_first(ensemble);
      return grant_.release_request_token();
    }
  }
  LeaseClock::time_point valid_until() const override { return grant_.valid_until(); }
  Owner owner() const override {
    if constexpr (requires { grant_.owner(); }) {
      return grant_.owner();
    } else {
      throw std::logic_error("it does not say whose it is");
    }
  }
  GuardedTransaction guarded() const override {
    if constexpr (requires { grant_.guarded(); }) {
      return grant_.guarded();
    } else {
      return GuardedTransaction(grant_);
    }
  }
  LockState blocked_by(Deadline deadline) const override {
    if constexpr (requires { grant_.blocked_by(deadline); }) {
      return grant_.blocked_by(deadline);
    } else {
      throw std::logic_error("it does not lock in calls");
    }
  }
  bool renew(std::optional<std::chrono::milliseconds> length) override {
    if constexpr (requires { grant_.renew(); }) {
      return length ? grant_.renew(*length) : grant_.renew();
    } else {
      throw std::logic_error("it has no maximum time");
    }
  }
  void proclaim(const std::string& value) const override {
    if constexpr (requires { grant_.proclaim(value); }) {
      grant_.proclaim(value);
    } else {
      throw std::logic_error("it does not lead");
    }
  }
  void release() override { grant_.release(); }

 private:
  static void check_is_first(std::size_t ensemble) {
    if (ensemble != 0) throw std::logic_error("it is on one ensemble");
  }

  G grant_;
};

template <class F>
class LockOf : public SuiteLock {
 public:
  explicit LockOf(std::unique_ptr<typename F::Lock> lock) : lock_(std::move(lock)) {}

  Grant acquire(AcquireOptions options) override { return acquire_as<F>(std::move(options)); }
  GrantFuture async_acquire(AcquireOptions options) override {
    return async_acquire_as<F>(std::move(options));
  }
  // The handler of the lock class can only be moved.
  void async_acquire(AcquireOptions options, Handler handler) override {
    F::async_acquire(*lock_, std::move(options),
                     [kept = std::make_unique<Handler>(std::move(handler))](
                         typename F::Grant grant, const std::exception_ptr& error) {
                       (*kept)(Grant(std::move(grant)), error);
                     });
  }
  Grant rival_acquire(AcquireOptions options) override {
    return acquire_as<typename F::Rival>(std::move(options));
  }
  GrantFuture rival_async_acquire(AcquireOptions options) override {
    return async_acquire_as<typename F::Rival>(std::move(options));
  }
  std::vector<Participant> participants() const override { return F::participants(*lock_); }
  std::optional<std::size_t> queue_position(const Owner& owner) const override {
    if constexpr (HasQueuePosition<F>) {
      return lock_->queue_position(owner);
    } else {
      throw std::logic_error("it has no queue_position()");
    }
  }

 protected:
  typename F::Lock& of_adapter() const { return *lock_; }

 private:
  template <class As>
  Grant acquire_as(AcquireOptions options) {
    return Grant(As::acquire(*lock_, std::move(options)));
  }
  template <class As>
  GrantFuture async_acquire_as(AcquireOptions options) {
    auto made = As::async_acquire(*lock_, std::move(options));
    const auto future = std::make_shared<decltype(made)>(std::move(made));
    return {.get = [future] { return Grant(typename F::Grant(testing::get(*future))); },
            .is_ready = [future] { return testing::is_ready(*future); }};
  }

  const std::unique_ptr<typename F::Lock> lock_;
};

template <HasLockAndUnlock F>
class LockableOf final : public LockOf<F> {
 public:
  using LockOf<F>::LockOf;

  void lock() override { F::lock(this->of_adapter()); }
  bool lock_or_stop(std::stop_token stop) override {
    return F::lock_or_stop(this->of_adapter(), std::move(stop));
  }
  bool lock_until(Deadline deadline) override {
    return F::lock_until(this->of_adapter(), deadline);
  }
  bool try_lock() override { return F::try_lock(this->of_adapter()); }
  void unlock() override { F::unlock(this->of_adapter()); }
  bool is_locked() const override { return F::is_locked(this->of_adapter()); }
};

template <class F>
std::unique_ptr<SuiteLock> make_lock(const std::vector<Client*>& clients, const std::string& path,
                                     const CohortOptions& options) {
  std::unique_ptr<typename F::Lock> lock;
  if constexpr (F::kOnEnsembles) {
    lock = F::make(clients, path, options);
  } else {
    lock = F::make(*clients.front(), path, options);
  }
  if constexpr (HasLockAndUnlock<F>) {
    return std::make_unique<LockableOf<F>>(std::move(lock));
  } else {
    return std::make_unique<LockOf<F>>(std::move(lock));
  }
}

template <class F>
LockAdapter adapter_of() {
  LockAdapter adapter{.name = F::kName,
                      .nests = F::kNests,
                      .shares = F::kShares,
                      .named = F::kNamed,
                      .keeps_node = F::kKeepsNode,
                      .seeds_count = F::kSeedsCount,
                      .calls = F::kCalls,
                      .fails_by_policy = F::kFailsByPolicy,
                      .waits_without_servers = F::kWaitsWithoutServers,
                      .frees_all_by_loss = F::kFreesAllByLoss,
                      .leads = F::kLeads,
                      .interrupts = F::kInterrupts,
                      .has_delay = F::kHasDelay,
                      .delays = F::kDelays,
                      .on_ensembles = F::kOnEnsembles,
                      .has_lock = HasLockAndUnlock<F>,
                      .has_position = HasQueuePosition<F>,
                      .thread_owns = false,
                      .delivered = F::kDelivered,
                      .paths = F::paths(kPath),
                      .make = make_lock<F>};
  if constexpr (HasLockAndUnlock<F>) adapter.thread_owns = F::kThreadOwns;
  return adapter;
}

}  // namespace zklock::testing
