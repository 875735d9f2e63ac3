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

#include "zklock/core/wait_cycles.h"
#include "zklock/engine/session/process.h"
#include "zklock/owner.h"

namespace zklock::detail {

/// A contender that waits, and the contenders of this client that block it. An address identifies a
/// contender. It is only compared.
struct BlockedContender {
  struct Blocker {
    Owner owner;
    const void* contender = nullptr;
    /// Only unlock() by the owner's thread, or a loss, ends the hold. true if `waits`.
    bool is_thread_bound = false;
    /// It is a writer that waits, perhaps ahead of the contender, which is a reader.
    bool waits = false;
  };
  const void* contender = nullptr;  ///< null if it does not wait
  /// Its znode exists. If not, a refused create can end the wait, and its order is unknown.
  bool has_node = false;
  std::vector<Blocker> blockers;
};

/// A path at which calls wait. REQUIRES: the engine mutex is held.
class WaitedPath {
 public:
  virtual const std::string& waited_path() const noexcept = 0;
  /// Returns the contender of this key if it waits, and those that it waits for. Reads the clock.
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

/// Threads of one client that wait for each other in a cycle.
struct Deadlock {
  /// Every wait and every hold of the cycle is bound to its thread. Then only a loss ends it.
  bool is_certain = false;
  /// The znode of each contender that waits exists. If not, find() must be called again.
  bool is_settled = true;
  /// The cause, for an error that names the path of the wait that found it.
  std::string text;
};

/// Finds threads of one client that wait for each other in a cycle.
///
/// | wait       | event                                      | next                          |
/// |------------|--------------------------------------------|-------------------------------|
/// | none       | add(): a blocking call begins to wait      | registered, with a new number |
/// | registered | find(): no cycle, or a newer wait is in it | registered                    |
/// |            | find(): a cycle that is not settled        | registered; find() again      |
/// |            | find(): a certain cycle                    | registered; the call fails    |
/// |            | find(): a possible cycle                   | registered; a warning         |
/// |            | remove(): the call has ended               | none                          |
///
/// Each wait registers before it looks. So the newest wait of a cycle finds it, and no other does:
/// the cycle has one victim.
///
/// Not found are cycles through several clients, through calls that do not block, and through a
/// MultiMutex that waits. Nor are those through a call that began without another contender of its
/// client on the path, and whose znode was lost while it waited.
///
/// Thread-safety: none. REQUIRES: the engine mutex is held.
class DeadlockDetector {
 public:
  /// The largest number of owners whose waits one search reads.
  static constexpr std::size_t kMostOwners = 200;

  /// Identifies a wait: its owner, and a rising number.
  using WaitKey = std::pair<Owner, std::uint64_t>;

  WaitKey add(BlockedCall call);
  void remove(const WaitKey& key) noexcept;
  /// Returns the cycle whose newest wait this is.
  std::optional<Deadlock> find(const WaitKey& key) const;

 private:
  struct Registered {
    BlockedCall call;
    ThreadNameText thread;
  };
  /// One wait for one contender.
  struct Step {
    WaitKey key;
    const Registered* wait;
    const void* waiter;
    bool has_node = false;  ///< of the waiter
    BlockedContender::Blocker blocker;
  };
  struct Reading {
    std::vector<core::WaitEdge> edges;
    std::vector<Step> steps;  ///< index: as edges
  };

  /// Reads what can be reached from the waits of `owner`, which gets the number 0.
  Reading read(const Owner& owner) const;
  static std::string text_of(const std::vector<Step>& cycle);

  std::map<WaitKey, Registered> waits_;
  /// For each path, the number of its waits.
  std::map<const WaitedPath*, std::size_t> paths_;
  std::uint64_t last_number_ = 0;
};

}  // namespace zklock::detail
