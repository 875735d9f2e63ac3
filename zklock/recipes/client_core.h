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
#include "zklock/client/coordinator.h"
#include "zklock/client/deleter.h"
#include "zklock/client/dispatcher.h"
#include "zklock/client/scheduler.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/node_data.h"
#include "zklock/error.h"
#include "zklock/owner.h"
#include "zklock/recipes/background_work.h"
#include "zklock/recipes/listeners.h"
#include "zklock/recipes/loss_sightings.h"
#include "zklock/recipes/process_identity.h"
#include "zklock/recipes/session_keeper.h"

namespace zklock::recipes {

class LockEngine;

/// Hears of new sessions at once, and not behind the user's listeners. Called with no lock held, on
/// a thread that must not be kept.
class NewSessionListener {
 public:
  virtual void session_began() = 0;

 protected:
  ~NewSessionListener() = default;
};

/// Who asks for a place in a queue.
struct Requester {
  Owner owner;
  std::array<char, 16> thread;  ///< the name of the one that called; the system has no longer ones

  static Requester of_this_thread(const Owner& owner);
};

/// The seams, where tests put a simulation. The scheduler goes before the coordinator does, which may
/// still hand out replies then: they are `closed`, and need no timer.
struct Ports {
  std::shared_ptr<client::Coordinator> coordinator;
  std::shared_ptr<client::Scheduler> scheduler;
  std::shared_ptr<client::Dispatcher> dispatcher;  ///< for the user's callbacks
  std::shared_ptr<client::Dispatcher> losses;      ///< for telling losses, and nothing else
  /// A dispatcher for one listener, which may block it: on the executor, where it is set.
  std::function<std::shared_ptr<client::Dispatcher>(Executor)> listener_dispatcher = {};
  /// Waits, within bounds, until the losses have been told, those included that no thread has been
  /// found for yet; before the session is closed.
  std::function<void(BackgroundWork& untold)> finish_losses = [](BackgroundWork&) {};
  /// Ends the threads behind scheduler and dispatchers; after the coordinator has been closed.
  std::function<void()> stop_threads = [] {};
  /// Whether the calling thread runs one of the user's callbacks.
  std::function<bool()> in_callback = [] { return false; };
};

/// What every lock of one client shares.
///
/// Thread-safety: all members, from any thread. Made by make(), ended by close(). Then the last
/// reference may go on any thread, one of its own included: a thread that runs the reply to a late
/// request, say, may be the last to hold an engine, and with it the client. Such a thread outlives both.
class ClientCore : public client::SessionObserver, public std::enable_shared_from_this<ClientCore> {
 public:
  /// At a millisecond's distance more than the servers carry out meanwhile.
  static constexpr std::size_t most_creates_at_once = 100;
  struct Settings {
    std::string hosts;  ///< for the texts of errors
    std::string application;
    std::string host;
    std::chrono::milliseconds connection_timeout{15'000};
    std::chrono::microseconds stay_awake{2'000};
    std::size_t creates_at_once = most_creates_at_once;  ///< of lock nodes in one path; at least 1
    bool announces = true;  ///< nobody else can write this client's nodes
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
  /// For one listener; on `executor`, where it is set.
  std::shared_ptr<client::Dispatcher> listener_dispatcher(Executor executor) const {
    return ports_.listener_dispatcher ? ports_.listener_dispatcher(std::move(executor))
                                      : ports_.dispatcher;
  }
  /// For several, on threads of their own: on `executor`, where it is set.
  std::shared_ptr<client::Dispatcher> listeners_dispatcher(Executor executor) const {
    return executor ? listener_dispatcher(std::move(executor)) : ports_.dispatcher;
  }
  SessionKeeper& keeper() noexcept { return *keeper_; }
  BackgroundWork& work() noexcept { return work_; }
  /// The losses that wait for a thread that tells them.
  BackgroundWork& untold_losses() noexcept { return untold_losses_; }
  /// How many there are that OwnTurn has a watch on.
  std::atomic<int>& watched_paths() noexcept { return watched_paths_; }
  LossSightings& loss_sightings() noexcept { return loss_sightings_; }
  /// Deletes a node of that session in the background, as a part of `work` or of a new piece of
  /// work(). If the client is closed, nothing is sent: closing a session deletes its nodes. Calls
  /// `gone` when the ensemble has confirmed that the node is deleted, which may never happen.
  void remove(SessionId session, client::Deleter::Node node, client::Deleter::Manner manner,
              std::function<void()> gone = {}, BackgroundWork::Id work = {});
  /// The same, plainly; nothing where there is no session.
  void remove(SessionId session, std::string path, BackgroundWork::Id work = {});
  /// Returns an error if this session has a node at `path` that the ACL does not permit it to delete.
  /// A call that acquired there would wait for that node, and could not release either. Tries to
  /// delete the node once more: after a success the next call gets no error.
  std::optional<Error> retry_refused_removals(const core::LockPath& path);
  const Settings& settings() const noexcept { return settings_; }

  /// The engine of a path; the same one for as long as anybody uses it.
  std::shared_ptr<LockEngine> engine(const core::LockPath& path);

  /// Notes whether the sequence counter of a path is at its end, for engines of that path made
  /// later. So calls that fail and are repeated with new objects create no further nodes there.
  void counter_has_ended(const core::LockPath& path, bool ended);

  /// Unlike that of every other client.
  const std::string& attempt_prefix() const noexcept { return attempt_prefix_; }
  /// Unlike that of every other contender of this client.
  std::uint64_t next_attempt() noexcept { return ++attempts_; }
  /// What the node says of this process, and of who asked for it.
  core::NodeData identify(const Requester& requester) const;

  bool wait_until_connected(Deadline deadline);
  Subscription add_listener(std::function<void(ConnectionState)> listener);
  /// From now on, as long as it lives.
  void tell_of_sessions(const std::shared_ptr<NewSessionListener>& listener);
  /// As Client::flush().
  bool flush(Deadline deadline);
  void close() noexcept;

  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// Whether this process is a fork()ed child of the one that made the client.
  bool forked() const noexcept { return fork_generation() != birth_; }
  /// Throws Error(forked | closed).
  void check_usable(const char* operation, const std::string& path) const;

  void warn(const std::string& text) const noexcept;

  /// SessionObserver.
  void connected(const client::SessionInfo& session) override;
  void suspended(SessionId session) override;
  void ended(SessionId session, core::Status why) override;
  void answered(SessionId session, Instant sent_at, bool by_quorum) override;

 private:
  ClientCore(Ports ports, Settings settings);
  /// A node to be deleted, until it is.
  struct Removal {
    SessionId session;
    client::Deleter::Node node;  ///< while it is refused
    BackgroundWork::Id work;
    std::function<void()> gone;
    bool refused = false;

    std::string_view parent() const {
      return std::string_view(node.path).substr(0, node.path.rfind('/'));
    }
  };
  std::vector<std::shared_ptr<LockEngine>> engines();
  void tell_of_new_session();
  void send(const std::shared_ptr<Removal>& removal, client::Deleter::Node node,
            client::Deleter::Manner manner);
  void removed(const std::shared_ptr<Removal>& removal);
  void refused(const std::shared_ptr<Removal>& removal, client::Deleter::Node node);
  /// Sends the refused removals of children of `parent` once more; all of them if it is empty.
  /// Returns one of them, or null.
  std::shared_ptr<Removal> retry_removals(std::string_view parent);
  void end_refused_removals(SessionId session) noexcept;

  const Ports ports_;
  const Settings settings_;
  const std::int64_t pid_;
  const std::uint32_t birth_;  ///< the generation of the process, counted by fork()
  const std::string attempt_prefix_;
  std::atomic<std::uint64_t> attempts_{0};
  BackgroundWork work_;
  BackgroundWork untold_losses_;
  LossSightings loss_sightings_;
  client::Deleter deleter_;
  const std::shared_ptr<SessionKeeper> keeper_;
  Listeners<ConnectionState> listeners_;
  std::atomic<int> watched_paths_{0};
  std::atomic<bool> closed_{false};
  std::atomic<bool> has_refused_{false};  ///< refused_removals_ is not empty

  std::mutex mutex_;
  // guarded by mutex_
  std::condition_variable changed_;
  bool connected_ = false;
  bool refused_ = false;                                    ///< the servers refused the credential
  std::vector<std::shared_ptr<Removal>> refused_removals_;  ///< also while tried once more
  bool close_done_ = false;
  std::unordered_map<std::string, std::weak_ptr<LockEngine>> engines_;
  std::set<std::string> ended_counters_;  ///< paths
  std::vector<std::weak_ptr<NewSessionListener>> session_listeners_;
  std::size_t prune_at_ = 16;  ///< how many engines it takes to look for dead ones
};

}  // namespace zklock::recipes
