// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>
#include <utility>

#include "zklock/client/port/mutex.h"
#include "zklock/client/threads/start_thread.h"

namespace zklock::client {

/// One thread of the library, and the object that owns it.
///
/// | input        | from any other thread           | from this thread                         |
/// |--------------|---------------------------------|------------------------------------------|
/// | join()       | blocks until the thread ends    | no effect                                |
/// | destructor   | REQUIRES: join() was called     | detaches the thread, which soon ends     |
///
/// Thread-safety: all members but the destructor, from any thread. Several may join at a time.
class OwnedThread {
 public:
  OwnedThread() = default;
  ~OwnedThread() {
    if (thread_.joinable()) thread_.detach();
  }
  OwnedThread(const OwnedThread&) = delete;
  OwnedThread& operator=(const OwnedThread&) = delete;

  /// Starts the thread, once: see start_thread(). `body` may destroy the owner of this object, and
  /// must not use it afterwards.
  template <class Body>
  void start(const char* name, Body body) {
    const MutexLock guard(mutex_);
    thread_ = start_thread(name, [this, body = std::move(body)]() mutable {
      id_ = std::this_thread::get_id();
      body();
    });
  }
  void join() {
    if (runs_here()) return;
    const MutexLock guard(mutex_);  // held meanwhile: a second caller waits for the first
    if (thread_.joinable()) thread_.join();
  }
  bool runs_here() const noexcept { return id_ == std::this_thread::get_id(); }

 private:
  std::atomic<std::thread::id> id_;  // set by the thread
  Mutex mutex_;
  std::thread thread_ ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::client
