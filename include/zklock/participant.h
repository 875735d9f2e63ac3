// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "zklock/fencing_token.h"

namespace zklock {

/// What a contender wants.
///
/// | access    | meaning                                                                     |
/// |-----------|-----------------------------------------------------------------------------|
/// | exclusive | to hold alone: a mutex, a writer                                            |
/// | shared    | to hold together with others that do: a reader                              |
/// | permits   | some permits of a semaphore                                                 |
/// | weighted  | to hold alone, but when its weight lets it: it waits at a PriorityMutex     |
enum class Access { exclusive, shared, permits, weighted };

/// One contender of a lock, as its node tells. The texts were written by the contender's process:
/// they are for people, are cut to 64 bytes each, and hold no control characters. Source:
/// org.apache.curator.framework.recipes.leader.Participant, and Kazoo's Lock.contenders().
///
/// Thread-safety: a value.
struct Participant {
  std::string node;           ///< name of the node, without the lock's path
  std::int32_t sequence = 0;  ///< its place in the order of arrival
  Access access = Access::exclusive;
  int permits = 0;  ///< that it wants of a semaphore; else 0
  int weight = 0;   ///< of one that waits at a PriorityMutex; else 0
  /// Nobody is in its way: it holds, or is about to be told so; or it has let go, and its node is
  /// not gone yet. Not while it waits for the end of a MutexOptions::lock_delay.
  bool holds = false;
  bool mine = false;  ///< it belongs to the client that asks
  /// The token of its node's first grant, made or to come; none where it waits at a PriorityMutex,
  /// which gives it another node when its turn comes.
  FencingToken token;
  std::int64_t session_id = 0;  ///< the ZooKeeper session that owns the node
  /// When the servers created the node, by the wall clock of the leader; for a writer that has
  /// become a reader: the node that it wrote under; at a PriorityMutex: the one that it first had.
  std::chrono::system_clock::time_point since;

  // Empty (and pid 0) where the node was not written by zklock.
  std::string owner;
  std::string host;
  std::string application;
  std::string thread;
  std::int64_t pid = 0;

  friend bool operator==(const Participant&, const Participant&) = default;
};

}  // namespace zklock
