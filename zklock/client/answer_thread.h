// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "zklock/client/coordinator.h"

namespace zklock::client {

/// Hands out the replies that come from no server (not connected, abandoned, session ended), in
/// order, on a thread of its own: submit() must not, and the session thread may be stuck in the
/// resolver at the very time when a caller has waited long enough.
///
/// Thread-safety: all members, from any thread, tasks included; destruction as usual, also from a
/// task: one that comes late may hold the last reference to whoever owns this.
class AnswerThread {
 public:
  /// `overdue()` answers what has waited too long, and says when to be asked again; it is called
  /// with no lock held.
  explicit AnswerThread(std::function<std::optional<Instant>()> overdue);
  /// Hands out what is left, `overdue` being asked no more. From a task: on its thread, here.
  ~AnswerThread();
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;

  /// They are taken only when it does not throw: std::bad_alloc.
  void post(ReplyHandler&& handler, Reply&& reply);
  /// Any other task, in the same line.
  void run(std::function<void()> task);
  /// Asks `overdue` anew, soon.
  void poke();
  /// Blocks until the queue is empty and neither a handler nor `overdue` runs. If called by a task,
  /// runs the queued tasks here and does not wait for the calling task.
  void wait_idle();
  bool runs_here() const noexcept { return thread_.get_id() == std::this_thread::get_id(); }

 private:
  class Line;

  const std::shared_ptr<Line> line_;  // shared with the thread, which may outlive this object
  std::thread thread_;
};

}  // namespace zklock::client
