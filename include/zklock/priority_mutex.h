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
#include "zklock/export.h"
#include "zklock/hold.h"
#include "zklock/mutex_options.h"
#include "zklock/participant.h"

namespace zklock {

namespace detail {
class LockHandle;
}

struct PriorityOptions {
  /// Weight of lock(), try_lock() and the other functions without a weight argument: 1 (lightest)
  /// to 10. Functions with a weight argument use that instead, if it is set.
  int weight = 5;
  /// How far weight reaches, in lock nodes. One lock node is one child created under the lock's
  /// path. A contender that is n units heavier overtakes those that arrived fewer than n * ageing
  /// lock nodes earlier. At exactly n * ageing lock nodes, the earlier contender is served first.
  /// So overtaking is bounded. A contender uses two lock nodes until it holds, three with a lock
  /// delay. Range: 1 to 1,000,000. nullopt: strictly by weight; light contenders may starve. All
  /// contenders on the path must use the same value.
  std::optional<int> ageing = 100;
  /// Options of the mutex. For the event `waiting`, LockEvent::position counts the contenders that
  /// would be served earlier as the queue is at that moment. It can rise when heavier contenders
  /// arrive.
  MutexOptions mutex = {};
};

/// A reentrant, fenced mutex over all processes. Heavier contenders are served first; contenders of
/// equal weight are served in the order of arrival. A holder is never displaced.
///
/// Contenders wait at a gate, in the order of weight. When the mutex is free, the first of them
/// passes the gate. For that, one multi deletes its znode at the gate and creates a znode of an
/// ordinary mutex on the same path. So every list of the children shows the contender exactly once.
///
/// Exclusion does not depend on weights: it is that of ReentrantMutex. A path can be shared with
/// ReentrantMutex and with Curator's mutex. Their contenders have no weight and are served before
/// all contenders at the gate.
///
/// Tokens rise in the order of grants, although that is not the order of arrival. The token is that
/// of the znode created when the contender passes the gate. If two contenders pass together, the
/// one with the earlier znode is granted first.
///
/// A contender that has passed the gate is not overtaken by later ones. If two contenders saw the
/// mutex free at the same moment, the second one is granted next. Only if its session ends, it
/// waits at the gate again.
///
/// A free lock costs four round trips; re-entry sends nothing. A waiter watches one znode. A
/// hand-off wakes the first contender at the gate, and the contenders that it has overtaken.
/// Sources: the weights of WLock; "ZooKeeper Recipes: Priority Queues".
///
/// It meets the Cpp17TimedLockable requirements. Waiting is a Boost.Thread interruption point. The
/// acquiring functions throw what those of ReentrantMutex throw. They also throw invalid_option for
/// a weight out of range, before anything is sent. They throw settings_mismatch if a contender that
/// arrived before uses another ageing.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class ZKLOCK_EXPORT PriorityMutex {
 public:
  /// Creates a mutex object. Sends nothing and does not block.
  /// Throws: Error(invalid_option) for a weight or an ageing out of range. Error(invalid_option)
  /// also for a MutexOptions::max_local_handoffs or keep_idle_for that is not the default.
  /// Error(invalid_path | closed | forked), as ReentrantMutex does.
  PriorityMutex(Client& client, std::string path, PriorityOptions options = {});
  PriorityMutex(const PriorityMutex&) = delete;
  PriorityMutex& operator=(const PriorityMutex&) = delete;
  ~PriorityMutex();

  /// These functions behave as those of ReentrantMutex. They use PriorityOptions::weight.
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

  /// These functions behave as those of ReentrantMutex. The default of `weight` is
  /// PriorityOptions::weight. Calls of one owner share one contender, which has the weight of the
  /// first call. If the first call is a single attempt and fails, the contender gets the weight of
  /// the first call that waits.
  Hold acquire(AcquireOptions options = {}, std::optional<int> weight = std::nullopt);
  void async_acquire(AcquireOptions options, AcquireHandler handler,
                     std::optional<int> weight = std::nullopt);
  std::future<Hold> async_acquire(AcquireOptions options = {},
                                  std::optional<int> weight = std::nullopt);
  Awaitable co_acquire(Deadline deadline = Deadline::never(), std::stop_token stop = {},
                       std::optional<int> weight = std::nullopt);
  Awaitable co_acquire(const AcquireOptions& options, std::optional<int> weight = std::nullopt);
  Awaitable co_acquire(AcquireOptions&& options, std::optional<int> weight = std::nullopt) = delete;

  /// These functions behave as those of ReentrantMutex.
  bool is_held_by_this_thread() const;
  int hold_count() const;

  /// Returns the holder, the contenders that have passed the gate, and the contenders at the gate.
  /// The order is that in which they would be served at this moment. Blocks and throws as
  /// ReentrantMutex::participants() does.
  std::vector<Participant> participants(Deadline deadline = Deadline::never()) const;

  const std::string& path() const noexcept;

 private:
  bool lock_until(Deadline deadline, std::stop_token stop);

  PriorityOptions options_;
  std::shared_ptr<detail::LockHandle> lock_handle_;
};

}  // namespace zklock
