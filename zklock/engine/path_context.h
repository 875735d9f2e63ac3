// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/core/lock_path.h"
#include "zklock/core/log_line.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/error.h"
#include "zklock/owner.h"

namespace zklock::detail {

class Contender;
class Grant;
class PendingAcquire;
struct AcquireRequest;

/// The part of a path lock that its contenders, lock nodes and calls use. PathLock implements the
/// virtual members.
///
/// Thread-safety: any thread may call any member, if its comment does not require that the engine
/// mutex is held.
class PathContext : public EngineLock::State, public std::enable_shared_from_this<PathContext> {
 public:
  PathContext(std::shared_ptr<EngineContext> context, core::LockPath path)
      : context_(std::move(context)), path_(std::move(path)) {}
  PathContext(const PathContext&) = delete;
  PathContext& operator=(const PathContext&) = delete;
  virtual ~PathContext() = default;

  EngineContext& context() const noexcept { return *context_; }
  const core::LockPath& path() const noexcept { return path_; }
  std::string child(std::string_view name) const { return path_.child(name); }
  /// Returns the argument for an EngineLock.
  EngineLock::Entry entry() const noexcept { return {*context_, this}; }
  /// Logs a warning about this lock path. The calling thread may hold any mutex.
  void warn(const std::string& text) const {
    context_->warn(core::log_line("lock", path_.str(), text, {}));
  }

  /// Returns the number of confirmed creates of this client's lock znodes on this path.
  std::uint64_t nodes_made() const noexcept { return nodes_made_; }
  void node_made() noexcept { ++nodes_made_; }

  /// Begins a call; see PathLock.
  virtual std::optional<Error> acquire(const std::shared_ptr<PendingAcquire>& call,
                                       AcquireRequest request) = 0;

  // REQUIRES: the engine mutex is held.

  void assert_held() const noexcept { context_->mutex().assert_held(); }
  /// Returns whether a public object exists on this path.
  bool is_used() const noexcept { return objects_ > 0; }
  /// Makes the contender of `owner` forget the calls that have ended. Withdraws it if no call is
  /// left.
  virtual void drop_ended_calls(const Owner& owner) noexcept = 0;
  /// Returns whether a contender of this client waits here.
  virtual bool anyone_waits() const = 0;
  /// Returns the names of this client's znodes in this queue.
  virtual std::vector<std::string> own_node_names() const = 0;
  virtual void enlist(const std::shared_ptr<Contender>& contender) = 0;
  /// Unregisters a contender. Does nothing if it is not registered.
  virtual void dismiss(const Contender& contender) noexcept = 0;
  /// Records that the lock() of `thread` is granted. See ReentryCounter::begin().
  virtual void on_locked(std::uint64_t thread, std::shared_ptr<const Grant> grant) noexcept = 0;
  /// Runs `task` after the EngineLock has ended, without the engine mutex.
  void after_unlock(Outbox::Task task) { context_->mutex().after_unlock(std::move(task)); }

 protected:
  std::size_t objects_ = 0;  ///< public objects

 private:
  const std::shared_ptr<EngineContext> context_;
  const core::LockPath path_;
  std::atomic<std::uint64_t> nodes_made_ = 0;
};

}  // namespace zklock::detail
