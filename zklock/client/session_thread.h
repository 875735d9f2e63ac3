// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "zklock/client/backoff.h"

namespace zklock::client {

/// Opens a handle, closes it when it is of no more use, and opens the next, on a thread of its own:
/// both may block, in the resolver and on the network.
///
/// | told      | by                    | then                                                     |
/// |-----------|-----------------------|----------------------------------------------------------|
/// | start()   | the owner             | open(), again after a pause while it fails               |
/// | retire()  | a handle's last event | shut(), then open() after a pause, unless for good       |
/// | stop()    | the owner             | shut(), if a handle is open; the thread ends             |
///
/// Thread-safety: all members, from any thread; stop() not from the thread itself.
class SessionThread {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    /// Whether a handle is open now.
    virtual bool open() = 0;
    virtual void shut() = 0;
  };
  enum class Next {
    soon,       ///< open the next one after a pause that starts small again
    with_care,  ///< the handle did not live long: go on with the growing pauses
    never,
  };

  SessionThread(Host& host, Backoff backoff);
  ~SessionThread();
  SessionThread(const SessionThread&) = delete;
  SessionThread& operator=(const SessionThread&) = delete;

  void start();
  void retire(Next next);
  /// Returns when the thread has ended, whoever stopped it.
  void stop();
  bool runs_here() const noexcept { return id_.load() == std::this_thread::get_id(); }

 private:
  void run();
  // Waits for `pause`; false: stopped meanwhile.
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds pause);

  Host& host_;
  Backoff backoff_;  // of the thread alone

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  bool stopping_ = false;
  bool retired_ = false;
  Next next_ = Next::soon;

  std::atomic<std::thread::id> id_;  // once it runs

  std::mutex thread_mutex_;
  std::thread thread_;  // guarded by thread_mutex_
};

}  // namespace zklock::client
