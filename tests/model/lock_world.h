// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/checker.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/hold.h"
#include "zklock/log.h"
#include "zklock/testing/simulation/world.h"

namespace zklock::model {

/// The result of one acquire.
struct CallResult {
  std::size_t client = 0;
  Owner owner;
  int outcomes = 0;  ///< the number of results; 1 at the end
  Hold hold;
  std::optional<Error> error;
  FencingToken token;  ///< of the grant, also after the release
  std::string node;    ///< the lock znode of the grant
  core::CountKind kind = core::CountKind::hold;
  std::chrono::milliseconds lock_delay = {};
  bool is_recorded = false;  ///< as granted, and not yet as released
  bool granted() const noexcept { return token.zxid != 0; }
};

/// The production path lock with one client core for each simulated client. Records its history for
/// the Checker, which checks I1, I2, I4, I6, I7 and I9. All holds are queried at each grant and in
/// violation(). Two invariants more:
///
/// | name  | invariant                                                                      |
/// |-------|--------------------------------------------------------------------------------|
/// | delay | No contender is granted while there is a delay marker without its lock znode.  |
/// |       | A grant with a lock delay has a delay marker.                                  |
/// | I8    | At rest there is no lock znode, hold marker, watch, interest, map entry or     |
/// |       | background work.                                                               |
class LockWorld {
 public:
  struct LogTarget {
    std::shared_ptr<spdlog::logger> logger = {};
    LogSink sink = {};
    LogLevel level = LogLevel::info;
  };
  /// `log`: where the lines of all clients go, written by the dispatcher of the first one.
  explicit LockWorld(std::size_t clients, ClientOptions options = {}, bool announces = true,
                     std::size_t creates_at_once = detail::CreateLimiter::kMostAtOnce,
                     std::optional<LogTarget> log = {});
  LockWorld(std::size_t clients, LogTarget log)
      : LockWorld(clients, {}, true, detail::CreateLimiter::kMostAtOnce, std::move(log)) {}
  ~LockWorld();
  LockWorld(const LockWorld&) = delete;
  LockWorld& operator=(const LockWorld&) = delete;

  static constexpr const char* kPath = "/locks/a";

  World& world() noexcept { return world_; }
  detail::ClientCore& core(std::size_t c) { return *cores_.at(c); }
  std::shared_ptr<detail::PathLock> path_lock(std::size_t c, const char* lock = kPath);

  /// Connects all clients, and runs until no work is left.
  void connect_all();
  /// Keeps a public lock object on the path until end_use(), or until the world is destroyed.
  void use(std::size_t client);
  void end_use(std::size_t client);

  struct Request {
    Owner owner = Owner::unique();
    std::optional<Duration> timeout = std::nullopt;  ///< none: no deadline; zero: one attempt
    core::CountKind kind = core::CountKind::hold;
    bool queue_again = true;
    core::HoldLimit limit = {};
    std::shared_ptr<detail::LockEventQueue> listener = nullptr;
    core::QueueRule rule = core::QueueRule::mutex();
    core::Lazy<core::QueueRule> gate = {};
    std::chrono::milliseconds lock_delay = {};
    core::CohortPolicy local = {};
    detail::MetricsTarget metrics = {};
    std::shared_ptr<const detail::CallTexts> texts = nullptr;
  };
  static Request to_write(Owner owner = Owner::unique());
  static Request to_read(Owner owner = Owner::unique());
  static Request permits(std::int32_t wanted, std::int32_t all);
  static Request at_gate(std::int32_t weight, Owner owner = Owner::unique());
  /// Requests permits of a count that the ensemble stores.
  static Request shared_permits(std::int32_t wanted, std::int32_t initial);
  /// Sets the stored count to `number`, as another program would.
  void say_permits(std::int32_t number);
  static std::string count_path();
  /// Starts an acquire. Returns its index for the members below.
  std::size_t acquire(std::size_t client, Request request);
  std::size_t acquire(std::size_t client) { return acquire(client, Request{}); }
  void cancel(std::size_t call);
  void release(std::size_t call);
  CallResult& call(std::size_t i) { return *calls_.at(i); }
  std::size_t calls() const noexcept { return calls_.size(); }
  std::size_t losses_notified(std::size_t call) const { return losses_notified_.at(call); }

  /// Returns whether the client has background work.
  bool has_work(std::size_t client) const;
  /// Makes the Cleaner of a client delete a znode, as one of its session.
  void delete_node(std::size_t client, std::string path);
  /// Calls SimEnsemble::empty(). After that, tokens are compared only among the later grants.
  void empty_servers();

  /// Returns the names of the lock znodes and of their other siblings, unordered. Hold markers and
  /// the permit count are left out.
  std::vector<std::string> nodes() const;
  /// Returns the names of the hold markers, unordered.
  std::vector<std::string> hold_markers() const;
  /// Returns the number of valid grants. The clients of paused processes are left out.
  std::size_t held() const;
  /// Returns the first violated invariant, or an empty string.
  std::string violation();
  /// Returns the first invariant that is violated now, when all calls have ended and all holds are
  /// released. Returns an empty string if there is none.
  std::string violation_at_rest();

 private:
  class NodeEvents;
  struct Watcher {
    LockWorld* world;
    std::size_t call;
    void operator()() const;
  };
  void ended(std::size_t index, detail::AcquireOutcome outcome);
  // Recording, in lock_world_history.cpp.
  void begin_history();
  void record(Event event);
  /// Records what the hold of each call says.
  void query_holds();
  void record_made(const std::string& path);
  void record_deleted(const std::string& path);
  /// Returns the number of a call in the history.
  static std::uint32_t number_of(std::size_t call) { return static_cast<std::uint32_t>(call + 1); }

  void check_delay(const CallResult& granted);

  mutable World world_;
  std::vector<std::shared_ptr<detail::ClientCore>> cores_;
  std::map<std::size_t, std::shared_ptr<detail::PathLock>> used_;  ///< key: the client
  std::vector<std::unique_ptr<CallResult>> calls_;
  std::vector<std::weak_ptr<detail::PendingAcquire>> waiting_;  ///< index: the call
  std::vector<std::size_t> losses_notified_;
  std::vector<std::unique_ptr<std::stop_callback<Watcher>>> watchers_;
  Checker checker_;
  std::shared_ptr<NodeEvents> node_events_;
  std::int64_t recorded_at_ = 0;                ///< the time for the Checker
  std::uint32_t resource_ = 1;                  ///< changed by empty_servers()
  std::map<std::string, FencingToken> tokens_;  ///< of the lock znodes
  std::string violation_;                       ///< of the lock delay
};

/// Starts an acquire of an owner of its own, with no deadline.
std::shared_ptr<detail::PendingAcquire> acquire_path(
    const std::shared_ptr<detail::PathLock>& path_lock,
    std::function<void(const detail::AcquireOutcome&)> done, core::CohortPolicy policy = {});

}  // namespace zklock::model
