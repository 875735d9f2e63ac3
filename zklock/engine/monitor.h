// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "zklock/core/session.h"
#include "zklock/engine/session/engine_context.h"

namespace zklock::detail {

/// The mutex of one lock path, and the tasks that code under this mutex puts off.
///
/// | put off by      | the task runs                                                        |
/// |-----------------|----------------------------------------------------------------------|
/// | before_unlock() | when the Lock ends, still with the mutex locked                      |
/// | after_unlock()  | when the Lock has ended, with the mutex unlocked, on the same thread |
/// | defer()         | in flush_deferred(), which a library thread calls soon               |
///
/// Thread-safety: any thread may make a Lock. REQUIRES for the other members: the calling thread
/// has a Lock. Made by std::make_shared.
class Monitor : public std::enable_shared_from_this<Monitor> {
 public:
  using Task = std::function<void()>;

  /// `name`: begins the text of a warning.
  Monitor(std::shared_ptr<EngineContext> core, std::string name)
      : core_(std::move(core)), name_(std::move(name)) {}
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  ~Monitor();

  /// Locks the mutex while it exists.
  class Lock {
   public:
    explicit Lock(Monitor& monitor);
    /// `lock` has locked mutex().
    Lock(Monitor& monitor, std::unique_lock<std::timed_mutex> lock);
    /// Runs the tasks. An exception of a task that runs without the mutex is logged.
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Monitor& monitor_;
    std::unique_lock<std::timed_mutex> lock_;
  };

  std::timed_mutex& mutex() noexcept { return mutex_; }

  void before_unlock(Task task) { before_unlock_.push_back(std::move(task)); }
  void after_unlock(Task task) { after_unlock_.push_back(std::move(task)); }
  void defer(Task task);
  /// Runs the deferred tasks now. If a task throws, that task and the later ones stay deferred.
  void flush_deferred();

 private:
  struct Running;

  void run_before_unlock();
  void run_after_unlock(std::vector<Task> tasks);
  void flush_soon() noexcept;
  void warn(const char* why) noexcept;

  const std::shared_ptr<EngineContext> core_;
  const std::string name_;
  std::timed_mutex mutex_;
  // guarded by mutex_
  std::vector<Task> before_unlock_;
  std::vector<Task> after_unlock_;
  std::vector<Task> deferred_;
  bool has_deferred_ = false;  ///< by the present Lock
};

}  // namespace zklock::detail
