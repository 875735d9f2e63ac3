// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/client.h"
#include "zklock/error.h"
#include "zklock/mutex_options.h"
#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/lock_engine.h"

namespace zklock::recipes {

/// What all public lock classes are made of: a path of a client, and every way to acquire there.
///
/// A call that another thread still runs keeps it, when the public object is destroyed.
///
/// Thread-safety: all members, from any thread.
class Lockable : public std::enable_shared_from_this<Lockable> {
 public:
  /// How the calls of one face of a lock differ from those of another.
  struct Kind {
    core::QueueRule rule = core::QueueRule::mutex();
    core::Seldom<core::QueueRule> gate = {};  ///< see Wanted::gate
    /// Calls of equal owners nest. Otherwise each call is on its own, whoever makes it.
    bool nests = true;
    /// What the face was asked for cannot be had: the call fails as for any other reason.
    std::optional<Error> refusal = {};
  };

  /// What a class is made for.
  struct Traits {
    bool local = false;  ///< contenders of one client may share a node
  };

  /// Throws Error(invalid_path | invalid_option | closed | forked).
  static std::shared_ptr<Lockable> make(Client& client, std::string path, MutexOptions options,
                                        Traits traits);
  Lockable(std::shared_ptr<LockEngine> engine, MutexOptions options, Traits traits);
  Lockable(const Lockable&) = delete;
  Lockable& operator=(const Lockable&) = delete;
  ~Lockable();
  /// The public object goes: what waits for it ends with Error(closed).
  static void object_destroyed(std::shared_ptr<Lockable> lockable) noexcept;

  LockEngine& engine() const noexcept { return *engine_; }
  const std::shared_ptr<LockEngine>& shared_engine() const noexcept { return engine_; }
  const std::string& path() const noexcept { return engine_->path().str(); }

  /// lock() and its relatives, for the calling thread. False: not granted, and the queue was left.
  bool lock(const Kind& kind, Deadline deadline, const std::stop_token& stop);
  /// Throws Error(not_owner | forked).
  void unlock(core::CountKind count, const char* operation);

  /// The owner is the calling thread by default.
  Hold acquire(const Kind& kind, const AcquireOptions& options);
  /// The owner is a new one by default. Throws Error(closed | forked) only; every other Error goes to
  /// the handler, invalid_option too.
  void async_acquire(const Kind& kind, const AcquireOptions& options, AcquireHandler handler);
  std::future<Hold> async_acquire(const Kind& kind, const AcquireOptions& options);
  Awaitable co_acquire(Kind kind, AcquireOptions options);

  /// Of the calling thread.
  core::Ownership ownership() const;

 private:
  /// Throws Error(invalid_option).
  void check(const Kind& kind, const AcquireOptions& options) const;
  Wanted wanted(const Kind& kind, Owner owner, const AcquireOptions& options,
                core::CountKind count) const;
  /// lock(), where it is not one count more of what the thread has.
  bool lock_anew(const Kind& kind, Deadline deadline, const std::stop_token& stop);
  /// unlock(), where it is not one count less of several.
  void unlock_last(core::CountKind count, const char* operation);
  /// Null: not granted.
  std::shared_ptr<Contender> acquire_blocking(Wanted wanted, const std::stop_token& stop);
  void start(const Kind& kind, const AcquireOptions& options, std::function<void(Outcome)> done);

  const std::shared_ptr<LockEngine> engine_;
  const MutexOptions options_;
  const core::HoldLimit limit_;
  const std::chrono::milliseconds lock_delay_;
  const core::LocalTerms local_;
  const std::shared_ptr<LockLine> listener_;  ///< null without one
  const std::shared_ptr<std::atomic<bool>> destroyed_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace zklock::recipes
