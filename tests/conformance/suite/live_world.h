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
#include "zklock/client.h"
#include "zklock/recipes/client_core.h"

namespace zklock::testing {

// The only maker of clients that are not connected to real servers.
struct ClientFactory {
  static std::unique_ptr<Client> make(std::shared_ptr<recipes::ClientCore> core) {
    return std::unique_ptr<Client>(new Client(std::move(core)));
  }
};

// A simulated world for programs with threads, so that calls may block. Whatever the clients ask of
// their ports goes into an inbox; a thread of its own takes it out, and moves the world until
// nothing is left to do at this time. Time stands still but for pass(): so leases and deadlines
// are exact, and nothing lapses because the machine is busy.
//
// The world is moved by one thread at a time, which has the turn. Ports never wait for the turn
// (but for start() and close()), since their callers may hold what the world's handlers need.
//
// Thread-safety: all members, from any thread; but handlers run in a turn, so they must not wait
// for other threads.
class LiveWorld {
 public:
  explicit LiveWorld(std::size_t clients, model::ClientOptions options = {});
  ~LiveWorld();
  LiveWorld(const LiveWorld&) = delete;
  LiveWorld& operator=(const LiveWorld&) = delete;

  // The ports of a client, for one ClientCore.
  recipes::Ports ports(std::size_t client);

  core::Instant now() const noexcept;
  // Moves time on by `duration`; all that falls due happens at its very time.
  void pass(core::Duration duration);

  // Calls `look(world)` in a turn, then lets everything happen that follows from it at this time.
  template <class Look>
  auto with(Look look) {
    Turn turn(*this);
    return look(world_);
  }

 private:
  class CoordinatorPort;
  class SchedulerPort;
  class DispatcherPort;

  // Comes to rest before and after.
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
  // What `command` returns is fixed when it is put in, its effect comes with the next turn; at
  // once, if the caller has the turn. Commands keep their order.
  template <class Make>
  auto ask(Make make);
  void take_inbox();
  void settle();
  void live();

  // Whose turn it is.
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
