// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "zklock/client/port/mutex.h"
#include "zklock/client/port/test_seam.h"
#include "zklock/testing/fake/driver_queue.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::testing::detail {

class Universe;

/// The servers of one FakeEnsemble.
/// REQUIRES, except for constants: the thread has the FakeWorld::SimulationLock.
struct FakeServers {
  FakeServers(Universe& in, std::string name, model::SimEnsemble& simulated,
              std::chrono::milliseconds limit)
      : universe(in), hosts(std::move(name)), ensemble(simulated), rest_limit(limit) {}

  Universe& universe;
  const std::string hosts;
  model::SimEnsemble& ensemble;
  const std::chrono::milliseconds rest_limit;  ///< see FakeEnsembleOptions
  bool stopped = false;
};

/// One client of a FakeEnsemble.
/// REQUIRES, except for constants and `problem`: the thread has the SimulationLock.
struct FakeClient {
  FakeClient(std::shared_ptr<FakeServers> to, model::SimCoordinator& simulated,
             model::ProcessClock& time, std::chrono::milliseconds timeout)
      : servers(std::move(to)), coordinator(simulated), clock(time), session_timeout(timeout) {}

  const std::shared_ptr<FakeServers> servers;
  model::SimCoordinator& coordinator;
  model::ProcessClock& clock;
  const std::chrono::milliseconds session_timeout;
  bool started = false;
  bool closed = false;
  bool refused = false;
  bool cut = false;
  client::TimerId abandon_timer{};  ///< drops the connection that is cut
  const client::Coordinator* port = nullptr;
  std::atomic<const char*> problem{""};  ///< see Coordinator::connection_problem()

  /// Connects or disconnects, as the state demands.
  void update();
};

/// The simulation that all present FakeEnsembles share, with their servers and clients.
/// REQUIRES: the thread has the FakeWorld::SimulationLock.
class Universe {
 public:
  model::World simulated{0};
  std::vector<std::shared_ptr<FakeServers>> servers;
  std::deque<FakeClient> clients;

  /// Runs the steps that are possible at this time, up to the first that can wake a thread. Returns
  /// false if there was none of that kind.
  bool run_step();

 private:
  bool reconnect_one();
};

/// The virtual time of the process, and the Universe of the present FakeEnsembles.
///
/// Ports of clients put their commands into an inbox. One thread at a time has the SimulationLock:
/// a thread that calls the FakeEnsemble, or the thread of this object if there is none. That thread
/// executes the commands, and runs the simulation up to a step that can wake a thread. The next
/// step comes when all threads sleep again. So the order in which threads run has little influence.
///
/// A call of a port does not wait for the SimulationLock, because the caller may hold mutexes that
/// handlers need. Only close() and stop() wait for it. Handlers run on the thread that has it. They
/// must not wait for threads.
///
/// The object is never destroyed. A universe begins with the first FakeEnsemble after a time
/// without one. The ports of its clients share it, so it can outlive its ensembles.
///
/// Thread-safety: all members, from any thread.
class FakeWorld final : public client::TestSeam {
 public:
  using Command = std::function<void()>;

  static FakeWorld& instance();

  /// Begins the servers of one more ensemble.
  std::shared_ptr<FakeServers> begin(std::chrono::milliseconds rest_limit);
  void end(const std::shared_ptr<FakeServers>& servers);
  /// Returns the universe of the present ensembles; null without one.
  std::shared_ptr<Universe> universe();

  // TestSeam.
  Connection connect(const ClientOptions& options) override;
  core::Instant now() const noexcept override;
  void add(const Sleeper& sleeper) override;
  void remove(const Sleeper& sleeper) noexcept override;
  std::uint32_t next_seed() noexcept override { return ++last_seed_; }

  /// Returns whether the calling thread has the SimulationLock.
  bool is_inside() const noexcept { return inside_ == std::this_thread::get_id(); }
  /// Calls `make`, which returns an answer and a command. Enqueues the command, and returns the
  /// answer. Queued commands are executed in order: at once if the caller has the SimulationLock,
  /// otherwise by the next with(), work() or end().
  template <class Make>
  auto enqueue(const std::shared_ptr<Universe>& universe, Make make) {
    client::MutexLock lock(inbox_mutex_);
    auto [answer, command] = make();
    inbox_.push_back({universe, std::move(command)});
    lock.unlock();
    if (is_inside()) {
      take_inbox();
    } else {
      posted_.notify_one();
    }
    return answer;
  }
  /// Executes the queued commands, and then `act()`, with the SimulationLock. Returns the result of
  /// `act()`. Runs no step: settle() does.
  template <class Act>
  auto with(const std::shared_ptr<Universe>& universe, Act act) {
    const SimulationLock lock(*this);
    take_inbox();
    touch(universe);
    return act();
  }
  /// Lets the thread of this object work if no other thread does.
  void wake();
  /// Calls `look()` with the SimulationLock, and returns its result. Executes no commands.
  template <class Look>
  auto look(Look look) {
    const SimulationLock lock(*this);
    return look();
  }

  // See FakeEnsemble. `limit`: FakeEnsembleOptions::rest_limit.
  /// Returns the time, read before another thread can let time pass.
  core::Instant settle(std::chrono::milliseconds limit);
  /// Settles, unless another thread settles or lets time pass now.
  void settle_if_free(std::chrono::milliseconds limit);
  void advance(core::Duration duration, std::chrono::milliseconds limit);
  /// Settles, lets time pass until the next event, and settles again. If there is no event until
  /// `end`, lets time pass until `end`, and returns false. Returns true after an event. If another
  /// thread has let time pass since `seen`, to a time before `end`, only settles, and returns true.
  /// After true, the caller must look again. Sets `seen` to the time.
  bool step(core::Instant& seen, core::Instant end, std::chrono::milliseconds limit);

 private:
  /// A recursive lock: the right to use the universes.
  class SimulationLock {
   public:
    explicit SimulationLock(FakeWorld& world);
    ~SimulationLock();
    SimulationLock(const SimulationLock&) = delete;
    SimulationLock& operator=(const SimulationLock&) = delete;

   private:
    FakeWorld& world_;
    const bool is_outermost_;
  };
  class Driving;
  struct Item {
    std::shared_ptr<Universe> universe;
    Command command;
  };

  FakeWorld();
  static Connection make_ports(const std::shared_ptr<Universe>& universe, FakeClient& client);
  void touch(const std::shared_ptr<Universe>& universe) ZKLOCK_NO_THREAD_SAFETY_ANALYSIS;
  void take_inbox();
  bool work();
  bool has_work() const noexcept ZKLOCK_REQUIRES(inbox_mutex_) {
    return !inbox_.empty() || is_busy_;
  }
  bool wake_sleepers();
  std::optional<core::Instant> next_sleeper();
  bool run_next_event(core::Instant end);
  void stand_at(core::Instant end);
  void come_to_rest(std::chrono::milliseconds limit);
  void set_now(core::Instant now) noexcept { now_ = now.time_since_epoch().count(); }
  void run_thread();

  std::atomic<core::Duration::rep> now_{0};
  std::atomic<std::uint32_t> last_seed_{0};
  std::atomic<std::thread::id> inside_{};
  std::atomic<bool> is_busy_{false};           ///< touched_ is not empty
  std::atomic<bool> waits_for_threads_{true};  ///< rest_limit is not 0

  std::atomic<int> drivers_{0};  ///< threads in settle(), advance() or step()
  // Its first thread settles or lets time pass. A thread enters it before it locks a mutex below.
  DriverQueue driver_queue_;

  // Held by the thread that has the SimulationLock.
  client::Mutex simulation_mutex_;
  std::shared_ptr<Universe> universe_
      ZKLOCK_GUARDED_BY(simulation_mutex_);  ///< null: no FakeEnsemble exists
  std::vector<std::shared_ptr<Universe>> touched_
      ZKLOCK_GUARDED_BY(simulation_mutex_);  ///< to be run
  std::uint64_t ensembles_made_ ZKLOCK_GUARDED_BY(simulation_mutex_) = 0;

  client::Mutex inbox_mutex_;
  client::Condition posted_;
  std::deque<Item> inbox_ ZKLOCK_GUARDED_BY(inbox_mutex_);

  client::Mutex sleepers_mutex_;
  std::vector<const Sleeper*> sleepers_ ZKLOCK_GUARDED_BY(sleepers_mutex_);
};

}  // namespace zklock::testing::detail
