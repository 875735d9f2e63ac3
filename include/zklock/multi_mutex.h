// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/composite_hold.h"
#include "zklock/composite_mutex.h"
#include "zklock/reentrant_mutex.h"

namespace zklock {

/// What MultiMutex::acquire() returns. Lost with the first of its holds.
using MultiHold = CompositeHold;

/// Several lock paths of one ensemble as one lock: all of them or none.
///
/// The paths are taken in their sorted order, whatever the order given. So calls of any number of
/// MultiMutexes, over any paths in any order, never wait for each other in a circle. That holds for
/// threads that hold no lock before the call; whoever holds one path and then asks for a lower one,
/// with whatever class, can deadlock as with any mutex (std::scoped_lock over several MultiMutexes
/// does not: it tries and steps back). Waiting for one path it keeps the lower ones: where that is
/// too much, use deadlines. Cost when all are free: one round trip for each path.
///
/// In the data of the nodes, for people to read, the thread is the one that went on with the call:
/// the caller's for the first path, one of the client's for the others.
///
/// Of the options, a listener hears of each path (LockEvent::path and place), in order; the maximum
/// hold time is counted from the grant of the whole, for those paths that the owner did not hold
/// before.
///
/// Each path can be shared with ReentrantMutexes, and with all that these share a path with.
/// Source: org.apache.curator.framework.recipes.locks.InterProcessMultiLock, which takes the locks
/// in the order given; org.redisson.RedissonMultiLock.
///
/// Acquiring functions throw what those of ReentrantMutex throw, from the path that failed.
///
/// Thread-safety: all members may be called by any thread, except construction and destruction.
class MultiMutex : public CompositeMutex {
 public:
  /// Effects: none on the servers, does not block.
  /// Throws: Error(invalid_option) when there is no path, or the same one twice, and for a local
  /// batch, or being kept when idle; Error(invalid_path), as ReentrantMutex; Error(closed |
  /// forked).
  MultiMutex(Client& client, std::vector<std::string> paths, MutexOptions options = {});

  /// As given.
  const std::vector<std::string>& paths() const noexcept { return paths_; }

 private:
  std::vector<std::string> paths_;
};

}  // namespace zklock
