// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "zklock/client/coordinator.h"

namespace zklock::client {

/// Hands out the replies that come from no server (not connected, abandoned, session ended), in
/// order, on a thread of its own: submit() must not, and the session thread may be stuck in the
/// resolver at the very time when a caller has waited long enough.
///
/// Thread-safety: all members, from any thread.
class AnswerThread {
 public:
  /// `overdue()` answers what has waited too long, and says when to be asked again; it is called
  /// with no lock held.
  explicit AnswerThread(std::function<std::optional<Instant>()> overdue);
  /// Hands out what is left.
  ~AnswerThread();
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;

  void post(ReplyHandler handler, Reply reply);
  /// Any other task, in the same line.
  void run(std::function<void()> task);
  /// Asks `overdue` anew, soon.
  void poke();
  /// Returns when all is handed out and no handler runs. Not from a handler.
  void wait_idle();

 private:
  void loop();
  // Waits for something to do, at the longest until `when`; false: to end.
  bool wait(std::unique_lock<std::mutex>& lock, std::optional<Instant> when);

  const std::function<std::optional<Instant>()> overdue_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable idle_;
  // Guarded by mutex_:
  std::deque<std::function<void()>> tasks_;
  bool running_ = false;  // one of them
  bool poked_ = false;
  bool stopping_ = false;

  std::thread thread_;  // last: it uses the others
};

}  // namespace zklock::client
