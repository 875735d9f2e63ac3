// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "zklock/fencing_token.h"
#include "zklock/owner.h"

namespace zklock {

/// What happens to one contender of a lock, told to MutexOptions::listener.
///
/// | kind      | told                                                          | next            |
/// |-----------|---------------------------------------------------------------|-----------------|
/// | waiting   | others stand before it: when it has queued, and when the one  | waiting,        |
/// |           | that it watches went (not at every step further ahead); or,    | acquired, none  |
/// |           | mostly at position 0, MutexOptions::lock_delay has to pass     |                 |
/// | acquired  | it holds                                                      | all that follow |
/// | suspended | the connection broke while it holds; HoldState::suspended     | resumed, an end |
/// | resumed   | the connection is back, and the lease has lasted              | as acquired     |
/// | release_  | somebody asks it to let go, by request_release(); again when  | as acquired     |
/// | requested | somebody else does                                            |                 |
/// | expiring  | the maximum hold time will be over soon; again after renew(). | as acquired     |
/// |           | Left out when the process stood still until it was over       |                 |
/// | expired   | it was over, and the hold is lost: an end                     | none            |
/// | released  | the last count was given back: an end                         | none            |
/// | lost      | the lease, the session or the node went, or the release was   | none            |
/// |           | forced: an end                                                |                 |
///
/// A grant is told once: re-entry, and its release, tell nothing, only the first grant and the last
/// release do. Every acquired is followed by exactly one end. A contender that leaves the queue
/// without a grant says nothing; the call that waited does. Source: the states of
/// org.apache.curator.framework.state.ConnectionState, and what recipes are told to do at each, here
/// of one hold.
///
/// Thread-safety: a value.
struct LockEvent {
  enum class Kind {
    waiting,
    acquired,
    suspended,
    resumed,
    release_requested,
    expiring,
    expired,
    released,
    lost
  };
  Kind kind = Kind::waiting;
  std::string path;  ///< of the lock
  Owner owner;       ///< on whose behalf
  /// Of the grant; of a contender that waits: the one it would have, where that is known already
  /// (at a PriorityMutex it mostly is not).
  FencingToken token;
  std::size_t position = 0;  ///< of waiting: how many contenders stand before it
  std::size_t place = 0;     ///< of a MultiMutex or QuorumMutex: which of its paths, or clients
};

/// See MutexOptions::listener, and QuorumOptions::listener.
using LockListener = std::function<void(const LockEvent&)>;

}  // namespace zklock
