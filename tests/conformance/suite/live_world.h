// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "zklock/engine/client_core.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::testing {

// A simulated world for programs with threads, so that calls may block. The ports put each command
// of a client into an inbox. A thread of the world executes these commands and runs the world until
// no work is left at this time. Only pass() moves the time. So leases and deadlines are exact, and
// a busy machine makes nothing expire.
//
// One thread at a time moves the world: it has a Section. Ports do not wait for a Section, except
// in start() and close(), because their callers may hold locks that the world's handlers need.
//
// Thread-safety: all members may be called from any thread. Handlers run in a Section, so they must
// not wait for other threads.
class LiveWorld {
 public:
  explicit LiveWorld(std::size_t clients, model::ClientOptions options = {});
  ~LiveWorld();
  LiveWorld(const LiveWorld&) = delete;
  LiveWorld& operator=(const LiveWorld&) = delete;

  // Returns the ports of a client. REQUIRES: one ClientCore uses them.
  detail::Ports ports(std::size_t client);

  core::Instant now() const noexcept;
  // Moves the time by `duration`. Each event on the way happens at its exact time.
  void pass(core::Duration duration);

  // Calls `look(world)` in a Section, and then executes all work that follows from it at this time.
  template <class Look>
  auto with(Look look) {
    Section section(*this);
    return look(world_);
  }

 private:
  class CoordinatorPort;
  class SchedulerPort;
  class DispatcherPort;

  // The right to move the world. Executes all pending work at its begin and at its end.
  class Section {
   public:
    explicit Section(LiveWorld& live);
    ~Section();
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    LiveWorld& live_;
    std::unique_lock<std::recursive_mutex> lock_;
    bool outermost_;
  };

  bool is_inside() const noexcept { return inside_ == std::this_thread::get_id(); }
  // Enqueues the command that `make` returns, and returns the result that `make` chose for it. The
  // command runs in the next Section, or at once if the caller has a Section. Commands keep their
  // order.
  template <class Make>
  auto run(Make make);
  void take_inbox();
  void settle();
  void live();

  // Locked by the thread that has a Section.
  std::recursive_mutex world_mutex_;
  std::atomic<std::thread::id> inside_{};
  model::World world_;
  std::atomic<core::Duration::rep> now_;
  std::atomic<bool> stopped_{false};

  std::mutex mutex_;
  // guarded by mutex_
  std::condition_variable posted_;
  std::deque<std::function<void()>> inbox_;

  std::thread thread_;
};

}  // namespace zklock::testing
