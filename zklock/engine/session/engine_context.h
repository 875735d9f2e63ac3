// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/dispatcher.h"
#include "zklock/client/port/log.h"
#include "zklock/client/port/scheduler.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/session/background_work.h"
#include "zklock/engine/session/cleaner.h"
#include "zklock/engine/session/deadlock_detector.h"
#include "zklock/engine/session/delay_marker_times.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/engine/session/label_metrics.h"
#include "zklock/engine/session/lease_keeper.h"
#include "zklock/engine/session/limited_log.h"
#include "zklock/engine/session/process.h"
#include "zklock/engine/session/running_callbacks.h"
#include "zklock/error.h"
#include "zklock/executor.h"
#include "zklock/owner.h"

namespace zklock::detail {

class PathLock;

/// Receives each new session before the user's listeners do. Called with no mutex of the engine
/// held. REQUIRES: session_began() does not block.
class NewSessionListener {
 public:
  virtual void session_began() = 0;

 protected:
  ~NewSessionListener() = default;
};

/// The texts that people see about the acquire calls of one lock object, or about one call. They
/// are short and printable.
struct CallTexts {
  std::string label;  ///< name of the lock object
  std::string note;   ///< purpose of the call

  /// Returns the texts of an object; null without a label.
  static std::shared_ptr<const CallTexts> of_object(std::string_view label);
  /// Returns the texts of one call. Without a note, that is `texts`, the texts of its object.
  static std::shared_ptr<const CallTexts> of_call(std::shared_ptr<const CallTexts> texts,
                                                  std::string_view note);
};

/// The owner, the thread, the texts and the kind of an acquire call.
struct Caller {
  Owner owner;
  ThreadNameText thread = {};                   ///< empty until record_thread_name()
  std::shared_ptr<const CallTexts> texts = {};  ///< null: none
  bool bound = false;                           ///< see Participant::thread_bound
  bool is_candidate = false;                    ///< see Participant::is_candidate

  /// Stores the calling thread's name, unless one is set. A system call.
  void record_thread_name() noexcept {
    if (thread.front() == '\0') thread = name_of_this_thread();
  }
};

/// The interfaces to the outside, which tests replace by a simulation. The scheduler is destroyed
/// before the coordinator. Replies after the destruction of the scheduler have the status `closed`,
/// and their handlers need no timer.
struct Ports {
  std::shared_ptr<client::Coordinator> coordinator;
  std::shared_ptr<client::Scheduler> scheduler;
  std::shared_ptr<client::Dispatcher> dispatcher;       ///< for the user's callbacks
  std::shared_ptr<client::Dispatcher> loss_dispatcher;  ///< for losses and release requests
  /// Makes a dispatcher for one listener. The listener may block. If an executor is given, the
  /// dispatcher passes the tasks to it.
  std::function<std::shared_ptr<client::Dispatcher>(Executor)> listener_dispatcher = {};
  /// Blocks for a bounded time until the loss callbacks have run. Called before the session is
  /// closed.
  std::function<void()> finish_losses = [] {};
  /// Ends the threads of the scheduler and the dispatchers. Called after the coordinator was
  /// closed.
  std::function<void()> stop_threads = [] {};
  /// Blocks for a bounded time until the lines of the log are written. Called after stop_threads().
  std::function<void()> finish_log = [] {};
  /// Returns whether the calling thread runs one of the user's callbacks.
  std::function<bool()> in_callback = [] { return false; };
};

/// The metrics of the lock objects of a client, its blocked calls, and its running callbacks.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held.
struct ClientRecords {
  LabelRegistry labels;
  DeadlockDetector deadlocks;
  RunningCallbacks callbacks;
};

/// The present connection string of a client, for the texts of errors.
///
/// Thread-safety: any thread may call get(). REQUIRES for set(): the engine mutex is held.
class HostsText {
 public:
  explicit HostsText(std::string hosts) : all_{std::move(hosts)}, present_(&*all_.begin()) {}

  void set(const std::string& hosts) { present_ = &*all_.insert(hosts).first; }
  /// Acquires no mutex: in a fork()ed child it could be locked.
  const std::string& get() const noexcept { return *present_.load(); }

 private:
  std::set<std::string> all_;                ///< each string once; never becomes smaller
  std::atomic<const std::string*> present_;  ///< points into all_
};

/// Facts that the path locks of a client share.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held.
class PathFacts {
 public:
  /// The number of paths on which SequenceHint has a watch.
  int watched = 0;

  /// Returns whether the next path that is new to this client is probably missing. At first, that
  /// is so until one existing path was met; after a missing path, until two were met. See
  /// PathKnowledge::should_create_path().
  bool predicts_new_path() const noexcept { return existing_to_meet_ > 0; }
  void met_missing_path() noexcept { existing_to_meet_ = 2; }
  void met_existing_path() noexcept {
    if (existing_to_meet_ > 0) --existing_to_meet_;
  }

  /// Records whether the path's sequence counter is at its end. Later path locks of that path start
  /// with that knowledge. So a call by a new lock object does not create a useless znode.
  void record_counter_end(const core::LockPath& path, bool ended) {
    if (ended) {
      ended_counters_.insert(path.str());
    } else {
      ended_counters_.erase(path.str());
    }
  }
  /// Returns what record_counter_end() recorded last for the path; false if there is nothing.
  bool has_counter_ended(const core::LockPath& path) const {
    return ended_counters_.contains(path.str());
  }

 private:
  int existing_to_meet_ = 1;              ///< existing paths that end the prediction
  std::set<std::string> ended_counters_;  ///< paths
};

/// The part of a client that the objects of the engine use: the ports, the lease, the background
/// work and the identity.
///
/// Thread-safety: any thread may call any member, if its comment does not say otherwise. "Enters
/// the engine" means: makes an EngineLock. REQUIRES for such members: the calling thread has none.
class EngineContext : public std::enable_shared_from_this<EngineContext> {
 public:
  struct Settings {
    std::string hosts;      ///< first connection string; see HostsText
    std::string user = {};  ///< of the digest credential; empty: none
    std::string application;
    std::string host;
    std::chrono::milliseconds connection_timeout{15'000};
    std::chrono::milliseconds loss_callback_limit{1'000};
    std::size_t max_in_flight = 2'000;  ///< see ClientOptions; at least 1
    /// Whether a release may be announced, by request::AnnounceAndDelete. False if other clients
    /// may write this client's znodes.
    bool announces = true;
    /// Whether long holds are marked; see core/hold_marker.h. False only in tests that simulate a
    /// zklock version without hold markers.
    bool marks_holds = true;
    std::shared_ptr<client::Log> log = nullptr;  ///< null: nothing is logged
  };

  EngineContext(Ports ports, Settings settings);
  EngineContext(const EngineContext&) = delete;
  EngineContext& operator=(const EngineContext&) = delete;
  virtual ~EngineContext() = default;

  client::Coordinator& coordinator() noexcept { return *ports_.coordinator; }
  client::Scheduler& scheduler() noexcept { return *ports_.scheduler; }
  client::Dispatcher& dispatcher() noexcept { return *ports_.dispatcher; }
  client::Dispatcher& loss_dispatcher() noexcept { return *ports_.loss_dispatcher; }
  /// Returns a dispatcher for one listener. It uses `executor`, if that is set.
  std::shared_ptr<client::Dispatcher> listener_dispatcher(Executor executor) const {
    return ports_.listener_dispatcher ? ports_.listener_dispatcher(std::move(executor))
                                      : ports_.dispatcher;
  }
  /// Returns a dispatcher for several listeners. It uses `executor`, if that is set, else the
  /// client's threads for callbacks.
  std::shared_ptr<client::Dispatcher> shared_listener_dispatcher(Executor executor) const {
    return executor ? listener_dispatcher(std::move(executor)) : ports_.dispatcher;
  }
  EngineMutex& mutex() noexcept { return engine_mutex_; }
  EngineLock::Entry entry() noexcept { return {*this}; }
  LeaseKeeper& keeper() noexcept { return keeper_; }
  HostsText& present_hosts() noexcept { return hosts_; }
  const Settings& settings() const noexcept { return settings_; }
  // REQUIRES for these five: the engine mutex is held.
  PathFacts& path_facts() noexcept { return guarded(path_facts_); }
  DelayMarkerTimes& delay_marker_times() noexcept { return guarded(delay_marker_times_); }
  Cleaner& cleaner() noexcept { return guarded(cleaner_); }
  BackgroundWork& work() noexcept { return guarded(work_); }
  ClientRecords& records() noexcept { return guarded(records_); }

  /// See LabelRegistry::of(). The result exists as long as the client. Enters the engine.
  LabelMetrics& metrics_of(std::string_view label);

  /// Returns a text that no other client uses.
  const std::string& attempt_prefix() const noexcept { return attempt_prefix_; }
  /// Returns a number that no other lock node of this client uses.
  std::uint64_t next_lock_node_number() noexcept { return ++lock_nodes_made_; }
  /// Returns the znode data that name this process and the caller.
  core::ZnodeData identify(const Caller& caller) const;

  /// Calls `listener` for each new session from now on, while it exists. REQUIRES: the engine mutex
  /// is held.
  void add_session_listener(const std::shared_ptr<NewSessionListener>& listener);

  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// Returns whether this process is a fork()ed child of the process that made the client.
  bool forked() const noexcept { return fork_guard_.forked(); }
  /// Throws Error(forked | closed).
  void check_usable(const char* operation, const std::string& path) const;

  /// Returns whether a line of this level is logged. A caller that formats a line checks it first.
  bool logs(LogLevel level) const noexcept { return log_ && log_->accepts(level); }
  /// Adds a line to the log; see LimitedLog::add(). The calling thread may hold any mutex.
  void log(LimitedLog::Line line) const noexcept;
  void warn(const std::string& text) const noexcept { log({.text = text}); }

 protected:
  const Ports& ports() const noexcept { return ports_; }
  /// Returns whether it was closed already.
  bool set_closed() noexcept { return closed_.exchange(true); }
  /// Enters the engine.
  void notify_session_listeners();
  /// Ends the log. Called when the timers of the client have ended.
  void finish_log() noexcept;
  /// Begins to describe in the log what the contenders of this client at `path` wait for. Returns
  /// false, without effect, while another description is in flight. REQUIRES: the engine mutex is
  /// held.
  virtual bool describe_wait(const core::LockPath& path) = 0;
  /// Called if the ACL of `path` does not permit this client to delete its own child with the full
  /// path `node`. An acquire would wait behind that znode. Called with no lock held.
  virtual void deletion_refused(const std::string& path, const std::string& node,
                                const std::string& cause) = 0;

 private:
  friend class PathLock;  // calls describe_wait()
  friend class Cleaner;   // calls deletion_refused()

  template <class Guarded>
  Guarded& guarded(Guarded& member) const noexcept {
    engine_mutex_.assert_held();
    return member;
  }

  const Ports ports_;
  EngineMutex engine_mutex_;
  const Settings settings_;
  const std::int64_t pid_;
  const ForkGuard fork_guard_;
  const std::string attempt_prefix_;
  const std::shared_ptr<LimitedLog> log_;  ///< null: nothing is logged
  std::atomic<std::uint64_t> lock_nodes_made_{0};
  BackgroundWork work_;
  ClientRecords records_;
  HostsText hosts_;
  DelayMarkerTimes delay_marker_times_;
  LeaseKeeper keeper_{*this};
  Cleaner cleaner_{*this};
  PathFacts path_facts_;
  std::atomic<bool> closed_{false};
  std::vector<std::weak_ptr<NewSessionListener>> session_listeners_;
};

}  // namespace zklock::detail
