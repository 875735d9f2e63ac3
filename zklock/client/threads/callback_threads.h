// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include "zklock/client/port/dispatcher.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/core/session.h"
#include "zklock/executor.h"

namespace zklock::client {

struct CallbackThreadsOptions {
  const char* name = "zklock-callback";        ///< a static string of at most 15 characters
  std::size_t max_threads = 8;                 ///< at least 1
  bool keeps_one = false;                      ///< one thread exists from the constructor on
  std::chrono::milliseconds idle_time{3'000};  ///< lifetime of another thread without tasks
  /// If set, begins a task for which there is no thread, and the system provides none.
  std::shared_ptr<Dispatcher> substitute = {};
  /// If set, the executor runs the tasks. One thread passes them to it, in order.
  Executor executor = {};
  /// If `scheduler` and `on_backlog` are set, the scheduler's thread calls `on_backlog` when a task
  /// has waited for a thread for kBacklogLimit. It does so again whenever that wait has doubled.
  /// REQUIRES:
  /// `on_backlog` neither blocks nor throws.
  std::weak_ptr<Scheduler> scheduler = {};
  std::function<void(const Backlog&)> on_backlog = {};
};

/// The threads that run user code and write the log. Threads are added while tasks keep the others
/// busy, up to `max_threads`. A thread without a task for `idle_time` ends, except the one that is
/// kept. All have the scheduling policy and priority of the thread that constructed this object.
///
/// Thread-safety: all members, from any thread, even from a task. A task may also run the
/// destructor. REQUIRES: no member is called during or after the destructor.
class CallbackThreads final : public Dispatcher {
 public:
  static constexpr std::chrono::seconds kBacklogLimit{5};

  /// `on_exception` is called with the exception of a task or of the executor, on the thread that
  /// caught it. Several calls may run concurrently. It must not throw. Throws std::system_error if
  /// a thread is kept and the system provides none.
  explicit CallbackThreads(std::function<void(std::exception_ptr)> on_exception,
                           CallbackThreadsOptions options = {});
  CallbackThreads(const CallbackThreads&) = delete;
  CallbackThreads& operator=(const CallbackThreads&) = delete;
  /// Calls drain_for(0). Running and queued tasks still run to their end. They use nothing of this
  /// object.
  ~CallbackThreads() override;

  /// Queues `task`. It begins soon if fewer than `max_threads` threads are busy, and the system
  /// provides another thread if none is idle. Idle threads are woken one after the other. After
  /// drain_for() has begun, only a task of this object can post a task. Any other call then drops
  /// `task` and returns false. Throws std::system_error if there is no thread, the system provides
  /// none, and there is no substitute. Throws std::bad_alloc, and has no effect then.
  bool post(std::function<void()> task) override;

  Backlog backlog() const override;

  /// From now on, post() accepts only tasks that a task posts. Blocks until the queued and running
  /// tasks and the threads have ended. If called by a task, it does not wait for that task. Returns
  /// false if `longest` passes first; the tasks then continue. May be called again.
  bool drain_for(core::Duration longest) noexcept;

  /// Returns whether the calling thread runs a task of this object.
  bool runs_here() const noexcept;

  /// Returns the current count of threads.
  std::size_t thread_count() const noexcept;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // shared with the threads and tasks, which may outlive this object
};

}  // namespace zklock::client
