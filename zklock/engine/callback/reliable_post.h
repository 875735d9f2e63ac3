// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "zklock/client/port/dispatcher.h"
#include "zklock/engine/session/background_work.h"
#include "zklock/engine/session/engine_context.h"

namespace zklock::detail {

/// A task for a dispatcher of the client that must not get lost, because a caller waits for it.
///
/// If the system has no thread for it, a timer posts it again a little later. The task does not run
/// within the post: it may block, and the posting thread may keep all sessions of the client alive.
/// A loss that waits for the timer counts as work in the client's unnotified_losses().
///
/// The destructor of this object runs the task in two cases. The client is closed: it accepts no
/// task, and drops the timer. Or the system has neither a thread nor a timer. A task that the
/// user's executor has accepted never runs anywhere else. In a fork()ed child no task runs.
///
/// Thread-safety: all members, from any thread.
class ReliablePost : public std::enable_shared_from_this<ReliablePost> {
 public:
  /// Posts `task` to `dispatcher`. Does not block. The dispatcher handles an exception of the task.
  /// `what` is an operation and a path, for the log.
  static void send(std::shared_ptr<EngineContext> core, client::Dispatcher& dispatcher,
                   std::string what, std::function<void()> task);

  ReliablePost(std::shared_ptr<EngineContext> core, client::Dispatcher& dispatcher,
               std::string what, std::function<void()> task);
  ~ReliablePost();
  /// Returns whether the calling thread runs a task in the destructor of a ReliablePost.
  static bool runs_here() noexcept;
  ReliablePost(const ReliablePost&) = delete;
  ReliablePost& operator=(const ReliablePost&) = delete;

 private:
  void post() noexcept;
  /// Logs a warning once.
  void warn(const char* why) noexcept;
  void run();
  void wait_for_thread();
  void end_waiting() noexcept;

  const std::shared_ptr<EngineContext> core_;  ///< owns dispatcher_
  client::Dispatcher& dispatcher_;
  std::string what_;            ///< empty after it was logged
  std::function<void()> task_;  ///< empty after it has run
  /// The dispatcher has the task. Set before its post(), because another thread may run the task
  /// before post() returns.
  bool taken_ = false;
  std::optional<BackgroundWork::Id> unnotified_;  ///< a loss that waits for a thread
};

}  // namespace zklock::detail
