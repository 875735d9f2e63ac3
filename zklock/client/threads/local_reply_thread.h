// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/threads/owned_thread.h"

namespace zklock::client {

/// Calls handlers with the replies that need no server, such as not_connected, not_sent and
/// session_ended. It calls them in order, on a thread of its own. submit() must not call handlers
/// itself. Nor can the session thread call them: it may be blocked in the resolver when the time
/// limit of a request passes.
///
/// Thread-safety: all members, from any thread, also from a task. A task may also run the
/// destructor, because a late task may hold the last reference to the owner of this object.
/// REQUIRES: no member is called during or after the destructor.
class LocalReplyThread {
 public:
  /// Starts the thread. `answer_overdue()` answers the requests that have waited too long, and
  /// returns when it must be called again. It is called on the thread, with no lock held.
  explicit LocalReplyThread(std::function<std::optional<Instant>()> answer_overdue);
  /// Runs the tasks that are left, without a further call of `answer_overdue`, and joins the
  /// thread. If a task calls the destructor, the tasks run within that call, and the thread is
  /// detached.
  ~LocalReplyThread();
  LocalReplyThread(const LocalReplyThread&) = delete;
  LocalReplyThread& operator=(const LocalReplyThread&) = delete;

  /// Queues a call of `handler` with `reply`. No effect if `handler` is empty.
  void post(ReplyHandler handler, Reply reply);
  /// Queues `task`. Tasks and replies are in one queue, and are processed in the order of the
  /// calls.
  void post(std::function<void()> task);
  /// Makes the thread call `answer_overdue` again, soon.
  void poke();
  /// Blocks until the queue is empty and neither a handler nor `answer_overdue` is running. If a
  /// task calls wait_idle(), the queued tasks run within that call, and it does not wait for the
  /// calling task.
  void wait_idle();
  bool runs_here() const noexcept { return thread_.runs_here(); }

 private:
  struct State;

  const std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
  OwnedThread thread_;
};

}  // namespace zklock::client
