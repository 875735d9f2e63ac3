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

#include "tests/model/world.h"
#include "zklock/engine/client_core.h"

namespace zklock::testing {

// A simulated world for programs with threads, so that calls may block. The ports put each command
// of a client into an inbox. A thread of the world executes these commands and runs the world until
// no work is left at this time. Only pass() moves the time. So leases and deadlines are exact, and
// a busy machine makes nothing expire.
//
// One thread at a time moves the world: it has the turn. Ports do not wait for the turn, except in
// start() and close(), because their callers may hold locks that the world's handlers need.
//
// Thread-safety: all members may be called from any thread. Handlers run in a turn, so they must
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

  // Calls `look(world)` in a turn, and then executes all work that follows from it at this time.
  template <class Look>
  auto with(Look look) {
    Turn turn(*this);
    return look(world_);
  }

 private:
  class CoordinatorPort;
  class SchedulerPort;
  class DispatcherPort;

  // A turn. Executes all pending work at its begin and at its end.
  class Turn {
   public:
    explicit Turn(LiveWorld& live);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    LiveWorld& live_;
    std::unique_lock<std::recursive_mutex> lock_;
    bool outermost_;
  };

  bool has_turn() const noexcept { return turn_of_ == std::this_thread::get_id(); }
  // Enqueues the command that `make` returns, and returns the result that `make` chose for it. The
  // command runs in the next turn, or at once if the caller has the turn. Commands keep their
  // order.
  template <class Make>
  auto ask(Make make);
  void take_inbox();
  void settle();
  void live();

  // Locked by the thread that has the turn.
  std::recursive_mutex turn_;
  std::atomic<std::thread::id> turn_of_{};
  model::World world_;
  std::atomic<core::Duration::rep> now_;
  std::atomic<bool> stopped_{false};

  std::mutex mutex_;
  // guarded by mutex_
  std::condition_variable asked_;
  std::deque<std::function<void()>> inbox_;

  std::thread thread_;
};

}  // namespace zklock::testing
