// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "zklock/acquire_options.h"
#include "zklock/awaitable.h"
#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/hold.h"
#include "zklock/mutex_options.h"
#include "zklock/participant.h"

namespace zklock {

namespace recipes {
class Lockable;
}

struct PriorityOptions {
  /// Of lock() and its relatives; 1 (lightest) to 10. The acquiring functions that take a weight
  /// say their own.
  int weight = 5;
  /// How far weight reaches, in places. One place is one child created under the lock's path. A
  /// contender that is n units heavier overtakes those that arrived fewer than n * ageing places
  /// earlier. At exactly n * ageing places, the earlier contender is served first. A contender uses
  /// two places until it holds, three with a lock delay. So overtaking is bounded. Range: 1 to
  /// 1,000,000. nullopt: strictly by weight; light contenders may starve. All contenders on the path
  /// must use the same value.
  std::optional<int> ageing = 100;
  /// For its listener the position of `waiting` counts all who will be served earlier as it stands
  /// then: it may rise, as heavier ones come.
  MutexOptions mutex = {};
};

/// A reentrant, fenced mutex over all processes where the heavier go first, and those of equal
/// weight in the order of arrival.
///
/// Who holds is never displaced. Who waits does so at a gate, in the order of weight; when the
/// mutex is free, the first one passes: in one transaction its node at the gate goes, and one of an
/// ordinary mutex on the same path comes. So whoever looks sees it once. That is why
/// - exclusion does not depend on weights: it is that of ReentrantMutex, which a path can be shared
///   with, as with Curator's. (Those know no weight, and go before all that wait at the gate.)
/// - tokens rise in the order of grant, although that is not the order of arrival: the token is that
///   of the contender's node, made when it passes the gate, not when it came to it. Of two that
///   pass together, the one whose node comes first is granted first.
/// - whoever has passed is next, whatever comes later: of two that saw the mutex free at the same
///   moment, the second is not overtaken any more, unless its session ends: then it waits at the
///   gate again.
///
/// A free lock costs four round trips; re-entry sends nothing. A waiter watches one node; a
/// hand-off wakes the first at the gate, and those that it has overtaken since it came.
/// Sources: the weights of WLock; "ZooKeeper Recipes: Priority Queues".
///
/// It meets the Cpp17TimedLockable requirements; waiting is a Boost.Thread interruption point. The
/// acquiring functions throw what those of ReentrantMutex throw, and: invalid_option for a weight
/// that is none, nothing was sent; settings_mismatch when a contender before it counts on another
/// ageing.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class PriorityMutex {
 public:
  /// Effects: none on the servers, does not block.
  /// Throws: Error(invalid_option) for a weight or an ageing out of range, a local batch, or being
  /// kept when idle; Error(invalid_path | closed | forked), as ReentrantMutex.
  PriorityMutex(Client& client, std::string path, PriorityOptions options = {});
  PriorityMutex(const PriorityMutex&) = delete;
  PriorityMutex& operator=(const PriorityMutex&) = delete;
  ~PriorityMutex();

  /// As those of ReentrantMutex; with the weight of the options.
  void lock();
  bool try_lock();
  template <DurationLike D>
  bool try_lock_for(D timeout) {
    return lock_until(Deadline(timeout), {});
  }
  template <TimePointLike T>
  bool try_lock_until(T at) {
    return lock_until(Deadline(at), {});
  }
  bool lock(std::stop_token stop);
  void unlock();

  /// As those of ReentrantMutex; `weight` unset: that of the options. It counts for the owner's
  /// first call only; those that join or nest have its place, but after a single attempt that has
  /// failed, the first of those that wait.
  Hold acquire(AcquireOptions options = {}, std::optional<int> weight = std::nullopt);
  void async_acquire(AcquireOptions options, AcquireHandler handler,
                     std::optional<int> weight = std::nullopt);
  std::future<Hold> async_acquire(AcquireOptions options = {},
                                  std::optional<int> weight = std::nullopt);
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {},
                       std::optional<int> weight = std::nullopt);
  Awaitable co_acquire(const AcquireOptions& options, std::optional<int> weight = std::nullopt);
  Awaitable co_acquire(AcquireOptions&& options, std::optional<int> weight = std::nullopt) = delete;

  /// Of the calling thread; as those of ReentrantMutex.
  bool is_held_by_this_thread() const;
  int hold_count() const;

  /// The holder, those who have passed the gate, and those who wait at it, in the order in which
  /// they will be served as it stands now. As ReentrantMutex::participants.
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  const std::string& path() const noexcept;

 private:
  bool lock_until(Deadline deadline, std::stop_token stop);

  PriorityOptions options_;
  std::shared_ptr<recipes::Lockable> lockable_;
};

}  // namespace zklock
