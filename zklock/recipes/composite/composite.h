// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "zklock/client/port/mutex.h"
#include "zklock/core/hold_limit.h"
#include "zklock/engine/callback/serial_listener.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/thread_exit.h"
#include "zklock/owner.h"
#include "zklock/recipes/composite/path_part_lock.h"

namespace zklock::detail {

/// The parts of a MultiMutex or a QuorumMutex, in the order in which all processes acquire them,
/// and the state that outlives a call. The parts can belong to several clients, so a composite has
/// a mutex of its own. No engine is entered under it.
///
/// Thread-safety: all members, from any thread. REQUIRES: made by std::make_shared.
class Composite : public ThreadExitListener, public std::enable_shared_from_this<Composite> {
 public:
  struct Part {
    std::unique_ptr<PathPartLock> lock;
    std::size_t index = 0;  ///< index in the caller's order
  };
  struct Rule {
    std::size_t needed = 1;
    bool queue_again = true;  ///< see PathPartLock::Request
    core::HoldLimit limit = {};
    std::shared_ptr<LockListener> listener = {};  ///< gets the events of all parts; null: none
    /// How long a part may be unreachable before it is skipped. Set only if not all parts are
    /// needed.
    std::optional<std::chrono::milliseconds> part_timeout = std::nullopt;
    std::shared_ptr<const CallTexts> texts = {};  ///< of the object; null: none
  };

  Composite(std::vector<Part> parts, const Rule& rule);

  const Rule& rule() const noexcept { return rule_; }
  std::size_t size() const noexcept { return parts_.size(); }
  PathPartLock& part(std::size_t i) const { return *parts_.at(i).lock; }
  std::size_t part_index(std::size_t i) const { return parts_.at(i).index; }
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
  /// which names the parts that refused, after the others have been unlocked. Throws Error(forked).
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

  /// Identifies a call that is in flight.
  enum class CallId : std::uint64_t {};
  /// Returns a higher id for each later call.
  CallId next_call() noexcept { return CallId{++last_call_}; }
  /// Adds a call that is in flight. `end` ends it with Error(closed); it is called at most once, by
  /// close(), with no lock held.
  void call_began(CallId call, std::function<void()> end);
  void call_ended(CallId call) noexcept;
  /// Ends the calls that are in flight, and removes the listener.
  void close();

  void thread_exits(Owner owner) noexcept override;

 private:
  friend class CompositeCall;  // its queue of events is guarded by mutex_

  std::vector<std::size_t> take_locked(const Owner& owner);
  bool all_needed() const noexcept { return rule_.needed == parts_.size(); }

  const std::vector<Part> parts_;
  const Rule rule_;
  /// Per part: 0 if it is reachable. Otherwise 1 + the number of connections that its client had
  /// made when the part was marked.
  std::vector<std::atomic<std::uint64_t>> unreachable_;

  std::atomic<std::uint64_t> last_call_{0};

  client::Mutex mutex_;
  /// The calls in flight, in the order in which they began.
  std::map<CallId, std::function<void()>> calls_ ZKLOCK_GUARDED_BY(mutex_);
  /// The parts of each lock() that has not been unlocked yet. Unused if all parts are needed.
  std::unordered_map<Owner, std::vector<std::vector<std::size_t>>> locked_
      ZKLOCK_GUARDED_BY(mutex_);
};

}  // namespace zklock::detail
