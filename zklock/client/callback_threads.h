// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include "zklock/client/dispatcher.h"
#include "zklock/client_options.h"
#include "zklock/core/session.h"

namespace zklock::client {

struct CallbackThreadsOptions {
  std::size_t max_threads = 8;                 ///< at least 1
  std::chrono::milliseconds idle_time{3'000};  ///< how long a thread without work stays
  /// Where set, the tasks are only handed over to it, in order, by one thread.
  Executor executor = {};
  std::chrono::microseconds stay_awake{0};  ///< as in ClientOptions
};

/// The threads that run user code: none until there is something to run, more while tasks keep the
/// others busy, and none again when there is nothing to run for a while. The system schedules them
/// as the thread that has made this object, whoever posts.
///
/// Thread-safety: all members, from any thread, tasks included; destruction as usual, also from a
/// task.
class CallbackThreads final : public Dispatcher {
 public:
  /// `on_exception` gets what a task (or the executor) throws, on the thread where it happened,
  /// one call at a time or several; it must not throw itself.
  explicit CallbackThreads(std::function<void(std::exception_ptr)> on_exception,
                           CallbackThreadsOptions options = {});
  CallbackThreads(const CallbackThreads&) = delete;
  CallbackThreads& operator=(const CallbackThreads&) = delete;
  /// Same as drain_for(0): tasks that have not ended then still run to their end, and so do those
  /// behind them; they need nothing of this object.
  ~CallbackThreads() override;

  /// A task begins at once while fewer than `max_threads` are busy; else it waits for its turn.
  /// After drain_for() has begun, only tasks may post; what others post is dropped (false).
  /// Throws: std::system_error when there is no thread and the system gives none; std::bad_alloc.
  bool post(std::function<void()> task) override;

  /// Effects: takes no more tasks, runs what is queued and waits for everything that runs, and for
  /// the threads to end. From within a task: except for that task. False when `longest` passed
  /// first; the tasks go on. May be called again.
  bool drain_for(core::Duration longest) noexcept;

  /// Whether the calling thread runs one of its tasks.
  bool runs_here() const noexcept;

  /// How many threads there are at this moment.
  std::size_t thread_count() const noexcept;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // shared with the threads and tasks, which may outlive this object
};

}  // namespace zklock::client
