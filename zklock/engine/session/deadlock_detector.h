// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zklock/client/port/mutex.h"
#include "zklock/core/wait_cycles.h"
#include "zklock/engine/session/thread_name.h"
#include "zklock/owner.h"

namespace zklock::detail {

/// A contender that waits, and the contenders of this client that block it. A weak pointer
/// identifies a contender. Its control block is compared, so a later contender at the same address
/// differs.
struct BlockedContender {
  struct Blocker {
    Owner owner;
    std::weak_ptr<const void> contender;
    /// Only unlock() by the owner's thread, or a loss, ends the hold. true if `waits`.
    bool is_thread_bound = false;
    /// It is a writer that waits, perhaps ahead of the contender, which is a reader.
    bool waits = false;
  };
  std::weak_ptr<const void> contender;  ///< empty if it does not wait
  /// Its znode exists. Before, a refused create can end the wait, and the order is not known.
  bool has_node = false;
  std::vector<Blocker> blockers;
};

/// A path at which calls wait.
class WaitedPath {
 public:
  virtual const std::string& waited_path() const noexcept = 0;
  /// Returns the contender of this key if it waits, and those that it waits for. REQUIRES: the
  /// caller holds no mutex.
  virtual BlockedContender blockers_of(const Owner& key) = 0;

 protected:
  ~WaitedPath() = default;
};

/// A blocking call that waits without a deadline.
struct BlockedCall {
  Owner owner;  ///< the owner that its Hold names
  Owner key;    ///< the owner under which its contender is registered
  std::shared_ptr<WaitedPath> path;
  /// The call is lock() or lock_shared(), without a stop token and a maximum hold time. So nothing
  /// but the grant ends the wait.
  bool is_thread_bound = false;
};

/// Threads of one client that wait for each other in a circle.
struct Deadlock {
  /// Every wait and every hold of the circle is bound to its thread. Then only a loss ends it.
  bool is_certain = false;
  /// The znode of each contender that waits exists. Before, find() must be called again.
  bool is_settled = true;
  /// The cause, for an error that names the path of the wait that found it.
  std::string text;
};

/// Finds threads of one client that wait for each other in a circle.
///
/// | wait       | event                                             | next                           |
/// |------------|---------------------------------------------------|--------------------------------|
/// | none       | a Wait is made: a blocking call begins to wait    | registered, with a new number  |
/// | registered | find(): no circle, or another Wait in it is newer | registered                     |
/// |            | find(): the second reading differs                | registered                     |
/// |            | find(): a circle that is not settled              | registered; find() again       |
/// |            | find(): a certain circle                          | registered; the call fails     |
/// |            | find(): a possible circle                         | registered; a warning          |
/// |            | the Wait is destroyed: the call has ended         | none                           |
///
/// Each wait registers before it looks. So the newest wait of a circle finds it, and no other does:
/// the circle has one victim.
///
/// The paths are read one after the other, so the circle that the first reading shows may never
/// have existed. Therefore it is read again. A contender waits, then holds, and is never used
/// again. So if all contenders and waits are the same in both readings, the circle existed at the
/// end of the first one.
///
/// Not found are circles through several clients, through calls that do not block, and through a
/// MultiMutex that waits.
///
/// Thread-safety: any thread may call any member. REQUIRES: the caller of find() holds no mutex.
/// Its own mutex is a leaf.
class DeadlockDetector {
 public:
  /// The largest number of owners whose waits one search reads.
  static constexpr std::size_t kMostOwners = 200;

  /// Registers a blocking call while it exists.
  class Wait {
   public:
    Wait(DeadlockDetector& detector, BlockedCall call);
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait();
    /// Returns the circle that this wait closes.
    std::optional<Deadlock> find() const { return detector_.find(key_); }

   private:
    DeadlockDetector& detector_;
    std::pair<Owner, std::uint64_t> key_;
  };

 private:
  using WaitKey = std::pair<Owner, std::uint64_t>;  ///< the owner, and a rising number
  struct Registered {
    BlockedCall call;
    ThreadNameText thread;
  };
  /// One wait for one contender, as read.
  struct Step {
    WaitKey key;
    Registered wait;
    std::weak_ptr<const void> waiter;
    bool has_node = false;  ///< of the waiter
    BlockedContender::Blocker blocker;
  };
  struct Reading {
    std::vector<core::WaitEdge> edges;
    std::vector<Step> steps;  ///< index: as edges
  };

  WaitKey add(BlockedCall call) noexcept;
  void remove(const WaitKey& key) noexcept;
  std::optional<Deadlock> find(const WaitKey& key);
  std::vector<std::pair<WaitKey, Registered>> waits_of(const Owner& owner);
  /// Reads what can be reached from the waits of `owner`, which gets the number 0.
  Reading read(const Owner& owner);
  bool still_exists(const Step& step);
  static std::string text_of(const std::vector<Step>& circle);

  client::Mutex mutex_;
  std::map<WaitKey, Registered> waits_ ZKLOCK_GUARDED_BY(mutex_);
  /// For each path, the number of its waits.
  std::map<const WaitedPath*, std::size_t> paths_ ZKLOCK_GUARDED_BY(mutex_);
  std::uint64_t last_number_ ZKLOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace zklock::detail
