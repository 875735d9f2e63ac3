// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "zklock/client.h"
#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/dispatcher.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/callback/listeners.h"
#include "zklock/engine/session/background_work.h"
#include "zklock/engine/session/delay_marker_clock.h"
#include "zklock/engine/session/lease_keeper.h"
#include "zklock/engine/session/node_deleter.h"
#include "zklock/engine/session/process_identity.h"
#include "zklock/error.h"
#include "zklock/owner.h"

namespace zklock::detail {

class PathLock;

/// Receives new sessions at once, not after the user's listeners. Called with no lock held.
/// REQUIRES: session_began() does not block.
class NewSessionListener {
 public:
  virtual void session_began() = 0;

 protected:
  ~NewSessionListener() = default;
};

/// The owner and the thread of an acquire call.
struct Requester {
  Owner owner;
  std::array<char, 16> thread;  ///< its name; Linux limits names to 16 bytes

  static Requester of_this_thread(const Owner& owner);
};

/// The interfaces to the outside, which tests replace by a simulation. The scheduler is destroyed
/// before the coordinator, which can still deliver replies then. They have the status `closed` and
/// need no timer.
struct Ports {
  std::shared_ptr<client::Coordinator> coordinator;
  std::shared_ptr<client::Scheduler> scheduler;
  std::shared_ptr<client::Dispatcher> dispatcher;  ///< for the user's callbacks
  std::shared_ptr<client::Dispatcher> losses;      ///< for loss callbacks only
  /// Makes a dispatcher for one listener, which may block it. It uses the executor, if that is set.
  std::function<std::shared_ptr<client::Dispatcher>(Executor)> listener_dispatcher = {};
  /// Blocks for a bounded time until the loss callbacks have run. `untold` are losses that still
  /// wait for a thread. Called before the session is closed.
  std::function<void(BackgroundWork& untold)> finish_losses = [](BackgroundWork&) {};
  /// Ends the threads of the scheduler and the dispatchers. Called after the coordinator was
  /// closed.
  std::function<void()> stop_threads = [] {};
  /// Returns whether the calling thread runs one of the user's callbacks.
  std::function<bool()> in_callback = [] { return false; };
};

/// The state that all locks of one client share.
///
/// Thread-safety: any thread may call any member. Made by make(), ended by close(). After that the
/// last reference may be dropped on any thread, also on a thread of the client. For example, a
/// thread that runs a late reply may own the last reference to a path lock, and so to the client.
/// Such a thread outlives both.
class ClientCore : public client::SessionObserver, public std::enable_shared_from_this<ClientCore> {
 public:
  /// More than the servers execute in a round trip of one millisecond.
  static constexpr std::size_t most_creates_at_once = 100;
  struct Settings {
    std::string hosts;  ///< for error texts
    std::string application;
    std::string host;
    std::chrono::milliseconds connection_timeout{15'000};
    std::chrono::microseconds spin_before_block{2'000};
    std::size_t creates_at_once = most_creates_at_once;  ///< limit per path, at least 1
    bool announces = true;                               ///< only this client can write its znodes
    std::shared_ptr<spdlog::logger> logger;
  };

  static std::shared_ptr<ClientCore> make(Ports ports, Settings settings);
  static const std::shared_ptr<ClientCore>& of(const Client& client) noexcept {
    return client.core_;
  }
  ~ClientCore() override;

  client::Coordinator& coordinator() noexcept { return *ports_.coordinator; }
  client::Scheduler& scheduler() noexcept { return *ports_.scheduler; }
  client::Dispatcher& dispatcher() noexcept { return *ports_.dispatcher; }
  client::Dispatcher& losses() noexcept { return *ports_.losses; }
  /// Returns a dispatcher for one listener. It uses `executor`, if that is set.
  std::shared_ptr<client::Dispatcher> listener_dispatcher(Executor executor) const {
    return ports_.listener_dispatcher ? ports_.listener_dispatcher(std::move(executor))
                                      : ports_.dispatcher;
  }
  /// Returns a dispatcher for several listeners. It uses `executor`, if that is set, else the
  /// client's threads for callbacks.
  std::shared_ptr<client::Dispatcher> listeners_dispatcher(Executor executor) const {
    return executor ? listener_dispatcher(std::move(executor)) : ports_.dispatcher;
  }
  LeaseKeeper& keeper() noexcept { return *keeper_; }
  BackgroundWork& work() noexcept { return work_; }
  /// Loss callbacks that wait for a thread.
  BackgroundWork& untold_losses() noexcept { return untold_losses_; }
  /// The number of paths on which SequenceHint has a watch.
  std::atomic<int>& watched_paths() noexcept { return watched_paths_; }
  DelayMarkerClock& delay_marker_clock() noexcept { return delay_marker_clock_; }
  /// Deletes a znode of this session in the background, as a part of `work` or of a new piece of
  /// work(). Calls `gone` when the ensemble has confirmed the delete, which may never happen. Does
  /// not block. If the client is closed, sends nothing: closing the session deletes its znodes.
  void remove(SessionId session, NodeDeleter::Node node, NodeDeleter::Manner manner,
              std::function<void()> gone = {}, BackgroundWork::Id work = {});
  /// Deletes the znode plainly. Does nothing if `session` is 0, because the znode ended with it.
  void remove(SessionId session, std::string path, BackgroundWork::Id work = {});
  /// Returns an error if this session still has a znode at `path` that the ACL does not permit it
  /// to delete. A new acquire there would wait behind that znode, and could not be released either.
  /// Also sends the delete again; if it succeeds, the next call returns no error.
  std::optional<Error> retry_refused_removals(const core::LockPath& path);
  const Settings& settings() const noexcept { return settings_; }

  /// Returns the path lock of a path. All users of the path share one path lock while any of them
  /// exists.
  std::shared_ptr<PathLock> path_lock(const core::LockPath& path);

  /// Records whether the path's sequence counter is at its end. Later path locks of that path start
  /// with that knowledge, so that repeated failing calls with new objects create no more znodes.
  void counter_has_ended(const core::LockPath& path, bool ended);

  /// Returns a text that no other client uses.
  const std::string& attempt_prefix() const noexcept { return attempt_prefix_; }
  /// Returns a number that no other contender of this client uses.
  std::uint64_t next_attempt() noexcept { return ++attempts_; }
  /// Returns the znode data that name this process and the requester.
  core::ZnodeData identify(const Requester& requester) const;

  bool wait_until_connected(Deadline deadline);
  Subscription add_listener(std::function<void(ConnectionState)> listener);
  /// Calls `listener` for each new session from now on, while it exists.
  void tell_of_sessions(const std::shared_ptr<NewSessionListener>& listener);
  /// See Client::flush().
  bool flush(Deadline deadline);
  void close() noexcept;

  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// Returns whether this process is a fork()ed child of the process that made the client.
  bool forked() const noexcept { return fork_generation() != birth_; }
  /// Throws Error(forked | closed).
  void check_usable(const char* operation, const std::string& path) const;

  void warn(const std::string& text) const noexcept;

  // SessionObserver.
  void connected(const client::SessionInfo& session) override;
  void suspended(SessionId session) override;
  void ended(SessionId session, core::Status why) override;
  void answered(SessionId session, Instant sent_at, bool by_quorum) override;

 private:
  ClientCore(Ports ports, Settings settings);
  /// A znode that is being deleted.
  struct Removal {
    SessionId session;
    NodeDeleter::Node node;  ///< set after the first refusal
    BackgroundWork::Id work;
    std::function<void()> gone;
    bool refused = false;

    std::string_view parent() const {
      return std::string_view(node.path).substr(0, node.path.rfind('/'));
    }
  };
  std::vector<std::shared_ptr<PathLock>> engines();
  void tell_of_new_session();
  void send(const std::shared_ptr<Removal>& removal, NodeDeleter::Node node,
            NodeDeleter::Manner manner);
  void removed(const std::shared_ptr<Removal>& removal);
  void refused(const std::shared_ptr<Removal>& removal, NodeDeleter::Node node);
  /// Sends the refused deletes of children of `parent` again; all refused deletes if it is empty.
  /// Returns one of them, or null if there is none.
  std::shared_ptr<Removal> retry_removals(std::string_view parent);
  void end_refused_removals(SessionId session) noexcept;

  const Ports ports_;
  const Settings settings_;
  const std::int64_t pid_;
  const std::uint32_t birth_;  ///< fork_generation() at construction
  const std::string attempt_prefix_;
  std::atomic<std::uint64_t> attempts_{0};
  BackgroundWork work_;
  BackgroundWork untold_losses_;
  DelayMarkerClock delay_marker_clock_;
  NodeDeleter node_deleter_;
  const std::shared_ptr<LeaseKeeper> keeper_;
  Listeners<ConnectionState> listeners_;
  std::atomic<int> watched_paths_{0};
  std::atomic<bool> closed_{false};
  std::atomic<bool> has_refused_{false};  ///< refused_removals_ is not empty

  std::mutex mutex_;
  // guarded by mutex_
  std::condition_variable changed_;
  bool connected_ = false;
  bool refused_ = false;                                    ///< the servers refused the credential
  std::vector<std::shared_ptr<Removal>> refused_removals_;  ///< also while a delete is repeated
  bool close_done_ = false;
  std::unordered_map<std::string, std::weak_ptr<PathLock>> engines_;
  std::set<std::string> ended_counters_;  ///< paths
  std::vector<std::weak_ptr<NewSessionListener>> session_listeners_;
  std::size_t prune_at_ = 16;  ///< size of engines_ that removes expired entries
};

}  // namespace zklock::detail
