// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "zklock/client/port/mutex.h"
#include "zklock/core/hold_limit.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/ownership.h"
#include "zklock/core/queue_rule.h"
#include "zklock/engine/callback/event_delivery.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/label_metrics.h"
#include "zklock/engine/session/thread_exit.h"
#include "zklock/engine/time_limit.h"
#include "zklock/owner.h"
#include "zklock/participant.h"

namespace zklock::detail {

class ClientCore;

/// A reentrant lock as a part of a composite: a mutex, a writer, a reader or some permits. It
/// shares counts and queue with the other locks on its path. Outcomes are passed to a callback.
///
/// The callback runs within acquire(), or on the thread that handles the reply. It does not run on
/// the user's executor: a blocking acquire on the executor's only thread would never return.
///
/// Thread-safety: all members, from any thread.
class PathPartLock {
 public:
  /// `lock_delay`: only exclusive access has one. `label`: of the composite, for the metrics.
  PathPartLock(ClientCore& core, const core::LockPath& path, core::QueueRule rule,
               std::chrono::milliseconds lock_delay, LockEventSink event_sink,
               std::string_view label = {});
  ~PathPartLock();
  PathPartLock(const PathPartLock&) = delete;
  PathPartLock& operator=(const PathPartLock&) = delete;

  /// Requests one hold or lock() for the owner, even a nested one. Sets the members of `request`
  /// that this part decides: the rule, the lock delay, the sink of the events and the metrics.
  /// REQUIRES: the kind of `request` is `lock` or `hold`. A reader part makes it shared. Returns
  /// the call. If the caller cancels it, `done` is called too. Throws Error(closed). Then `done` is
  /// not called.
  std::shared_ptr<PendingAcquire> acquire(AcquireRequest request);
  /// Releases one lock() of `owner`. Returns false if `owner` has none.
  bool unlock(const Owner& owner);
  /// Returns the counts of `owner` if it has a valid hold, otherwise 0. A reader part counts the
  /// shared counts only, any other part the exclusive ones only.
  int count(const Owner& owner) const;
  /// Returns whether `owner` has a valid hold with exactly one count, of any kind.
  bool holds_once(const Owner& owner) const { return ownership(owner).count() == 1; }
  /// Returns whether `owner` has a znode in the queue, and the ensemble's leader has answered the
  /// client recently.
  bool has_contact(const Owner& owner);
  /// Returns the contenders of the path; see read_participants().
  std::vector<Participant> participants(const TimeLimit& limit) const;
  /// Arranges that the locks of the calling thread are released when the thread ends.
  void unlock_at_thread_exit() { call_at_thread_exit(path_lock_); }

  const core::QueueRule& rule() const noexcept { return rule_; }
  EngineContext& context() noexcept { return path_lock_->context(); }
  const std::shared_ptr<PathLock>& path_lock() const noexcept { return path_lock_; }
  const std::string& path() const noexcept { return path_lock_->path().str(); }
  /// Returns the index of the part in the caller's order.
  std::size_t index() const noexcept { return event_sink_.part_index; }

 private:
  bool is_reader() const noexcept { return rule_.access == Access::shared; }
  core::Ownership ownership(const Owner& owner) const {
    return path_lock_->ownership(owner, rule_.access);
  }

  const std::shared_ptr<PathLock> path_lock_;
  const core::QueueRule rule_;
  const std::chrono::milliseconds lock_delay_;
  const LockEventSink event_sink_;
  LabelMetrics& metrics_;
};

/// The parts of a MultiMutex or a QuorumMutex, in the order in which all processes acquire them,
/// and the state that outlives a call. The parts can belong to several clients, so a composite has
/// a mutex of its own. No engine is entered under it.
///
/// Thread-safety: all members, from any thread. REQUIRES: made by std::make_shared.
class Composite : public ThreadExitListener, public std::enable_shared_from_this<Composite> {
 public:
  using Part = std::unique_ptr<PathPartLock>;
  struct Rule {
    std::size_t needed = 1;
    bool queue_again = true;  ///< see AcquireRequest
    core::HoldLimit limit = {};
    std::shared_ptr<LockEventQueue> listener = {};  ///< gets the events of all parts; null: none
    /// How long a part may be unreachable before it is skipped. Set only if not all parts are
    /// needed.
    std::optional<std::chrono::milliseconds> part_timeout = std::nullopt;
    std::shared_ptr<const CallTexts> texts = {};  ///< of the object; null: none
  };

  Composite(std::vector<Part> parts, const Rule& rule);

  const Rule& rule() const noexcept { return rule_; }
  std::size_t size() const noexcept { return parts_.size(); }
  PathPartLock& part(std::size_t i) const { return *parts_.at(i); }
  /// Returns the paths for error texts, each path once.
  std::string paths() const;

  bool forked() const noexcept;
  /// Throws Error(forked), or Error(closed) if fewer than `needed` parts have an open client.
  void check_usable(const char* operation) const;

  /// Arranges that each lock() of the calling thread is released when the thread ends.
  void unlock_at_thread_exit();
  /// Records which parts a lock() of `owner` acquired.
  void locked(const Owner& owner, std::vector<std::size_t> taken);
  /// Releases the last lock() of `owner`, in all parts that it acquired. Throws Error(not_owner),
  /// which names the parts that refused, after all other parts have been unlocked. Throws
  /// Error(forked).
  void unlock(const Owner& owner);
  /// Returns how often `owner` holds the composite: the largest n such that it holds at least
  /// `needed` parts n times or more.
  int count(const Owner& owner) const;

  /// Marks part `i` unreachable. If its client is connected, also sends a quorum request. An answer
  /// of the servers to it, or a new connection, clears the mark. If that request cannot be sent,
  /// the mark is cleared too, so that the part is tried again.
  void set_unreachable(std::size_t i);
  /// Clears the mark of part `i`.
  void set_reachable(std::size_t i) { unreachable_.at(i) = 0; }
  /// Returns whether part `i` is marked.
  bool is_unreachable(std::size_t i) const;
  /// Returns whether enough parts remain without the unreachable ones.
  bool enough_reachable() const;

  /// Runs `task` as a user callback of the first client that is open. Does not block.
  void post(std::function<void()> task);

  /// Returns the token that the next close() stops. That ends the calls that use it.
  std::stop_token closing();
  /// Ends the calls that are in flight, and removes the listener: the public object is being
  /// destroyed.
  void close();

  void thread_exits(Owner owner) noexcept override;

 private:
  friend class CompositeAcquire;  // its queue of events is guarded by mutex_

  std::vector<std::size_t> take_locked(const Owner& owner);
  bool all_needed() const noexcept { return rule_.needed == parts_.size(); }

  const std::vector<Part> parts_;
  const Rule rule_;
  /// Per part: 0 if it is reachable. Otherwise 1 + the number of connections that its client had
  /// made when the part was marked.
  std::vector<std::atomic<std::uint64_t>> unreachable_;

  client::Mutex mutex_;
  std::stop_source closing_ ZKLOCK_GUARDED_BY(mutex_);
  /// The parts of each lock() that has not been unlocked yet. Unused if all parts are needed.
  std::unordered_map<Owner, std::vector<std::vector<std::size_t>>> locked_
      ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::detail
