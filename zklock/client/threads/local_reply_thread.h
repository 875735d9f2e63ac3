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
/// Thread-safety: all members, from any thread, also from a handler. A handler may also run the
/// destructor, because a late one may hold the last reference to the owner of this object.
/// REQUIRES: no member is called during or after the destructor.
class LocalReplyThread {
 public:
  /// Starts the thread. `answer_overdue()` answers the requests that have waited too long, and
  /// returns when it must be called again. It is called on the thread, with no lock held.
  explicit LocalReplyThread(std::function<std::optional<Instant>()> answer_overdue);
  /// Calls the handlers that are left, without a further call of `answer_overdue`, and joins the
  /// thread. If a handler calls the destructor, the others run within that call, and the thread is
  /// detached.
  ~LocalReplyThread();
  LocalReplyThread(const LocalReplyThread&) = delete;
  LocalReplyThread& operator=(const LocalReplyThread&) = delete;

  /// Queues a call of `handler` with `reply`. No effect if `handler` is empty.
  void post(ReplyHandler handler, Reply reply);
  /// Makes the thread call `answer_overdue` again, soon.
  void poke();
  /// Blocks until the queue is empty and neither a handler nor `answer_overdue` is running. If a
  /// handler calls wait_idle(), the queued ones run within that call, and it does not wait for the
  /// calling handler.
  void wait_idle();
  bool runs_here() const noexcept { return thread_.runs_here(); }

 private:
  struct State;

  const std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
  OwnedThread thread_;
};

}  // namespace zklock::client
