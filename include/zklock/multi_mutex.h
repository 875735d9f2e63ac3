// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "zklock/client.h"
#include "zklock/composite_hold.h"
#include "zklock/composite_mutex.h"
#include "zklock/export.h"
#include "zklock/lock_options.h"
#include "zklock/reentrant_mutex.h"

namespace zklock {

/// The hold that MultiMutex::acquire() returns. It is lost as soon as any of its locks is lost.
using MultiHold = CompositeHold;

/// Several lock paths of one ensemble as one reentrant lock: all or none.
///
/// A call acquires the paths in their sorted order, whatever the order in the constructor. So the
/// calls of any MultiMutexes, with any paths, never wait for each other in a circle. That requires
/// that the calling threads hold no lock before. A thread that holds a path, and then acquires a
/// path that sorts before it, with any class, can deadlock. A std::scoped_lock over several
/// MultiMutexes does not deadlock: if an attempt at one of them fails, it releases the others.
///
/// While a call waits for one path, it holds the paths that sort before it. If that is too long,
/// use deadlines.
///
/// Cost: one round trip for each path if all paths are free.
///
/// The data of each znode contain a thread name, for people to read. For the first path it is the
/// calling thread, for the others the client's thread that continued the call.
///
/// The listener in `options` gets the events of each path, in order (see LockEvent::path and
/// LockEvent::part_index). The maximum hold time counts from the grant of the whole. If the owner
/// held a path before, the maximum hold time of that path does not change.
///
/// Each path can be shared with ReentrantMutexes, and with all other locks that can share a path
/// with those.
/// Source: org.apache.curator.framework.recipes.locks.InterProcessMultiLock, which acquires the
/// locks in the order given.
/// Source: org.redisson.RedissonMultiLock.
///
/// An acquiring call throws the Errors of AcquiringLock, for the path that failed.
///
/// Thread-safety: any thread may call any member. No call may overlap construction or destruction.
/// Exception: an acquiring call that waits; see CompositeMutex.
class ZKLOCK_EXPORT MultiMutex : public CompositeMutex {
 public:
  /// Makes a mutex on `paths`. Sends nothing; does not block.
  /// Throws: Error(invalid_option) if there is no path, one path occurs twice, or an option is
  /// outside its range. Error(invalid_path | closed | forked).
  MultiMutex(Client& client, std::vector<std::string> paths, const ExclusiveOptions& options = {});

  /// Returns the paths, in the order in the constructor.
  [[nodiscard]] const std::vector<std::string>& paths() const noexcept { return paths_; }

 private:
  std::vector<std::string> paths_;
};

}  // namespace zklock
