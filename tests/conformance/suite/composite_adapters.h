// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/suite/lock_adapters.h"

namespace zklock::testing {

// Makes a CompositeHold answer like a Hold. token() and node() are those of the part `first`, at
// which every contender queues first. On ensembles, `first` is the part on the first ensemble.
template <class Mutex, std::size_t first>
class CompositeGrant {
 public:
  CompositeGrant() = default;
  explicit CompositeGrant(CompositeHold hold) : hold_(std::move(hold)) {}

  explicit operator bool() const { return static_cast<bool>(hold_); }
  FencingToken token() const { return hold_[first].token(); }
  std::string node(std::size_t ensemble = 0) const { return hold_[first + ensemble].node(); }
  bool holds_on(std::size_t ensemble) const { return static_cast<bool>(hold_[first + ensemble]); }
  HoldState state() const { return hold_.state(); }
  std::stop_token loss_token() const { return hold_.loss_token(); }
  std::stop_token release_request_token(std::size_t ensemble) const {
    return hold_[first + ensemble].release_request_token();
  }
  LeaseClock::time_point valid_until() const { return hold_.valid_until(); }
  Owner owner() const { return hold_.owner(); }
  GuardedTransaction guarded() const {
    GuardedTransaction transaction(hold_[first]);
    if constexpr (std::is_same_v<Mutex, MultiMutex>) {
      for (const Hold& part : hold_.holds()) {
        if (&part != &hold_[first]) transaction.also_guarded_by(part);
      }
    }
    return transaction;
  }
  LockState blocked_by(Deadline deadline) const { return hold_.blocked_by(deadline); }
  bool renew() { return hold_.renew(); }
  bool renew(std::chrono::milliseconds length) { return hold_.renew(length); }
  void release() { hold_.release(); }

 private:
  CompositeHold hold_;
};

// Several locks used as one.
template <class Mutex, std::size_t first>
struct CompositeAdapter : CommonTraits {
  struct Lock {
    Client& client;  // of the first part
    std::string path;
    Mutex mutex;
  };
  using Grant = CompositeGrant<Mutex, first>;
  static constexpr bool kNests = true;
  static constexpr bool kShares = false;
  static constexpr bool kThreadOwns = true;

  static Grant acquire(Lock& lock, AcquireOptions options) {
    return Grant(lock.mutex.acquire(std::move(options)));
  }
  static std::future<CompositeHold> async_acquire(Lock& lock, AcquireOptions options) {
    return lock.mutex.async_acquire(std::move(options));
  }
  static void async_acquire(Lock& lock, AcquireOptions options,
                            Callback<Grant, std::exception_ptr> handler) {
    lock.mutex.async_acquire(std::move(options),
                             [kept = std::make_unique<decltype(handler)>(std::move(handler))](
                                 CompositeHold hold, std::exception_ptr error) {
                               (*kept)(Grant(std::move(hold)), std::move(error));
                             });
  }
  // A QuorumMutex has no participants(). Its parts share the queues of the mutexes on their paths.
  static std::vector<Participant> participants(const Lock& lock) {
    if constexpr (std::is_same_v<Mutex, MultiMutex>) {
      return lock.mutex.participants().at(first);
    } else {
      return ReentrantMutex(lock.client, lock.path).participants();
    }
  }
  static void lock(Lock& lock) { lock.mutex.lock(); }
  static bool lock_or_stop(Lock& lock, std::stop_token stop) {
    return lock.mutex.lock(std::move(stop));
  }
  static bool lock_until(Lock& lock, Deadline deadline) {
    return lock.mutex.try_lock_until(deadline.at());
  }
  static bool try_lock(Lock& lock) { return lock.mutex.try_lock(); }
  static void unlock(Lock& lock) { lock.mutex.unlock(); }
  static bool is_locked(const Lock& lock) { return lock.mutex.is_held_by_this_thread(); }
};

struct MultiOf1Adapter : CompositeAdapter<MultiMutex, 0> {
  using Rival = MultiOf1Adapter;
  static constexpr const char* kName = "MultiMutexOf1";
  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    const CohortOptions& options = {}) {
    return std::unique_ptr<Lock>(
        new Lock{client, path, MultiMutex(client, {path}, options_of<ExclusiveOptions>(options))});
  }
};

struct MultiOf3Adapter : CompositeAdapter<MultiMutex, 1> {
  using Rival = MultiOf3Adapter;
  static constexpr const char* kName = "MultiMutexOf3";
  // The other two parts are still held.
  static constexpr bool kFreesAllByLoss = false;
  // One delay for each path.
  static constexpr int kDelays = 3;
  static std::vector<std::string> paths(const std::string& path) {
    return {path, path + "-1", path + "-2"};
  }
  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    const CohortOptions& options = {}) {
    return std::unique_ptr<Lock>(new Lock{client, path,
                                          MultiMutex(client, {path + "-2", path, path + "-1"},
                                                     options_of<ExclusiveOptions>(options))});
  }
};

// A mutex, a reader and two of three permits. The mutex is acquired first.
struct MultiOfKindsAdapter : CompositeAdapter<MultiMutex, 1> {
  using Rival = MultiOfKindsAdapter;
  static constexpr const char* kName = "MultiMutexOfKinds";
  // The other two parts are still held.
  static constexpr bool kFreesAllByLoss = false;
  static std::vector<std::string> paths(const std::string& path) {
    return {path, path + "-1", path + "-2"};
  }
  static std::unique_ptr<Lock> make(Client& client, const std::string& path,
                                    const CohortOptions& options = {}) {
    return std::unique_ptr<Lock>(
        new Lock{client, path,
                 MultiMutex(client,
                            {LockPart::permits(path + "-2", 2, 3), LockPart::mutex(path),
                             LockPart::reader(path + "-1")},
                            options_of<ExclusiveOptions>(options))});
  }
};

struct QuorumAdapter : CompositeAdapter<QuorumMutex, 0> {
  using Rival = QuorumAdapter;
  static constexpr const char* kName = "QuorumMutex";
  static constexpr bool kOnEnsembles = true;
  // A failed ensemble is skipped and the next one waited for. The policy shows only if a majority
  // fails at once: see quorum_mutex_test.cpp.
  static constexpr bool kFailsByPolicy = false;
  // Skips unreachable ensembles early enough for each to get its share of the time.
  static constexpr bool kWaitsWithoutServers = false;
  // One delay for each ensemble of a majority; the last is tried once.
  static constexpr int kDelays = 2;
  // No ensemble is skipped because the machine is slow.
  static constexpr std::chrono::milliseconds kPatient = std::chrono::hours(1);

  static std::unique_ptr<Lock> make(const std::vector<Client*>& clients, const std::string& path,
                                    const CohortOptions& options = {}) {
    auto quorum = options_of<QuorumOptions>(options);
    quorum.ensemble_timeout = kPatient;
    const QuorumMutex::Clients all{*clients.at(0), *clients.at(1), *clients.at(2)};
    return std::unique_ptr<Lock>(new Lock{*clients.at(0), path, QuorumMutex(all, path, quorum)});
  }
};

}  // namespace zklock::testing
