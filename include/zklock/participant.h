// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "zklock/export.h"
#include "zklock/fencing_token.h"

namespace zklock {

/// Kind of access that a contender requests.
///
/// | access    | meaning                                                                     |
/// |-----------|-----------------------------------------------------------------------------|
/// | exclusive | holds alone: a mutex, a writer                                              |
/// | shared    | holds together with other shared holders: a reader                          |
/// | permits   | holds some permits of a semaphore                                           |
/// | weighted  | waits at the gate of a PriorityMutex, to hold alone later                   |
enum class Access { exclusive, shared, permits, weighted };

/// One contender of a lock, as described by its znode. The texts were written by the contender's
/// process. They are for people, and contain no control characters. They are cut to 64 bytes each,
/// a note to 200.
/// Source: org.apache.curator.framework.recipes.leader.Participant, and Kazoo's Lock.contenders().
///
/// Thread-safety: a value.
struct Participant {
  std::string node;           ///< name of the znode, without the lock's path
  std::int32_t sequence = 0;  ///< sequence number: the order of arrival
  /// The kind of access that the contender requested.
  Access access = Access::exclusive;
  int permits = 0;  ///< requested permits; 0 for other access
  int weight = 0;   ///< weight, while at a gate; otherwise 0
  /// true if no earlier contender conflicts. The contender then holds, is about to be granted, or
  /// has released and its znode still exists. false while it waits for the end of an
  /// ExclusiveOptions::lock_delay.
  bool holds = false;
  bool mine = false;  ///< created by the client that reads it
  /// The token that the contender got, or will get, with the first grant on its znode. Empty for a
  /// contender at the gate of a PriorityMutex: it gets another znode when it passes the gate.
  FencingToken token;
  std::int64_t session_id = 0;  ///< ZooKeeper session that owns the znode
  /// Creation time of the znode, by the wall clock of the ensemble's leader. After a downgrade, or
  /// after the gate of a PriorityMutex, it is the creation time of the earlier znode.
  std::chrono::system_clock::time_point since;
  /// Time of the grant, by the wall clock of the ensemble's leader. If contenders of one client
  /// pass a znode on (CohortOptions), it is the time of the first grant. nullopt if the contender
  /// does not hold, or is not of zklock. Also nullopt until it has held for 5 s, or for half a
  /// session timeout if that is shorter. And nullopt if the servers refused the hold marker; see
  /// the guide "zklock in a service".
  std::optional<std::chrono::system_clock::time_point> held_since;

  /// Empty, and pid 0, if the znode was not created by zklock.
  std::string owner;
  std::string host;
  std::string application;
  std::string thread;
  std::int64_t pid = 0;
  std::string label;  ///< LockOptions::label of its object
  std::string note;   ///< AcquireOptions::note of its call
  /// true if the call was lock() or lock_shared() with no time limit, stop token or maximum hold
  /// time. Then its thread is blocked until the grant. Afterwards only unlock() by that
  /// thread, or a loss, ends the hold. If its owner also has a Hold that nests, the release of that
  /// Hold can end it, too. Always false for a Mutex, which any thread may unlock, and for a
  /// QuorumMutex. Also false if contenders of one client share the znode (CohortOptions).
  /// find_cycles() uses it.
  bool thread_bound = false;
  /// true for a candidate of an election: of a LeaderLatch or LeaderElection. If it also holds, it
  /// is the leader. false for a contender of another library, or of a zklock that did not write
  /// this into the znode.
  bool is_candidate = false;

  /// Compares all members.
  friend bool operator==(const Participant&, const Participant&) = default;
};

/// Returns a text for people: `db7 pid 812 (billing, "job 42")`. The label follows the application
/// after a slash. Without the data of zklock, returns `znode lock-0000000012 of session 0x10000a2`.
/// The text is printable.
[[nodiscard]] ZKLOCK_EXPORT std::string to_string(const Participant& participant);

}  // namespace zklock
