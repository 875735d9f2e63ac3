// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

#include "zklock/client/port/mutex.h"
#include "zklock/client/threads/backoff.h"

namespace zklock::client {

/// Opens a handle, closes it when it is retired, and opens the next, on a thread of its own.
/// Opening and closing may block, in the resolver and on the network.
///
/// | input     | from                  | effect on HandleOwner                                    |
/// |-----------|-----------------------|----------------------------------------------------------|
/// | start()   | the owner             | open(), repeated after a pause while it fails            |
/// | retire()  | a handle's last event | shut(), then open() after a pause, unless Next::never    |
/// | stop()    | the owner             | shut(), if a handle is open; the thread ends             |
///
/// Thread-safety: all members, from any thread. REQUIRES: stop() is not called by the thread
/// itself.
class SessionThread {
 public:
  class HandleOwner {
   public:
    virtual ~HandleOwner() = default;
    /// Opens a handle. Returns whether that succeeded.
    virtual bool open() = 0;
    virtual void shut() = 0;
  };
  /// When the next handle is opened.
  enum class Next {
    soon,   ///< after the shortest pause
    later,  ///< after a longer pause: the handle was short-lived
    never,
  };

  SessionThread(HandleOwner& owner, Backoff backoff);
  ~SessionThread();
  SessionThread(const SessionThread&) = delete;
  SessionThread& operator=(const SessionThread&) = delete;

  void start();
  void retire(Next next);
  /// Blocks until the thread has ended, even if another call of stop() ends it.
  void stop();
  bool runs_here() const noexcept { return id_.load() == std::this_thread::get_id(); }

 private:
  void run();
  // Blocks for `pause`. Returns false if stop() is called meanwhile.
  bool wait(std::chrono::milliseconds pause) ZKLOCK_REQUIRES(mutex_);

  HandleOwner& owner_;
  Backoff backoff_;  // used by the thread only

  Mutex mutex_;
  Condition changed_;
  bool stopping_ ZKLOCK_GUARDED_BY(mutex_) = false;
  bool retired_ ZKLOCK_GUARDED_BY(mutex_) = false;
  Next next_ ZKLOCK_GUARDED_BY(mutex_) = Next::soon;

  std::atomic<std::thread::id> id_;  // set by the thread when it starts

  Mutex thread_mutex_;
  std::thread thread_ ZKLOCK_GUARDED_BY(thread_mutex_);
};

}  // namespace zklock::client
