// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "zklock/core/session.h"
#include "zklock/engine/session/engine_mutex.h"
#include "zklock/error.h"
#include "zklock/hold.h"

namespace zklock::detail {

/// Receives the events of one lock node: a contender that has the lock node for itself, or a cohort
/// that shares it. All members are called with path_mutex held.
class LockNodeObserver {
 public:
  /// `now`: a reading of the clock just before the grant.
  virtual void on_granted(core::Instant now) ZKLOCK_REQUIRES(path_mutex) = 0;
  /// The acquire has failed with an error. on_ended() follows, unless the observer calls
  /// LockNode::detach_observer().
  virtual void on_failed(Errc error, const std::string& cause) ZKLOCK_REQUIRES(path_mutex) = 0;
  /// The acquire has ended without a grant. No znode exists, or it is being deleted.
  virtual void on_ended() ZKLOCK_REQUIRES(path_mutex) = 0;
  /// The granted lock node is lost. `why` is `lease_expired`, `session_expired` or `node_deleted`.
  virtual void on_lost(LossReason why) ZKLOCK_REQUIRES(path_mutex) = 0;
  /// The lock node waits at this position of the queue; 0: it is first.
  virtual void on_position(std::size_t position) ZKLOCK_REQUIRES(path_mutex) = 0;
  /// The connection of the lock node's session broke.
  virtual void on_suspended() ZKLOCK_REQUIRES(path_mutex) = 0;
  /// The session of the lock node has a connection again.
  virtual void on_resumed() ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Another client requests the release. `force`: the hold ends now.
  virtual void on_release_requested(bool force) ZKLOCK_REQUIRES(path_mutex) = 0;
  /// No server was reached within ClientOptions::connection_timeout.
  virtual void on_unreachable(const std::string& cause) ZKLOCK_REQUIRES(path_mutex) = 0;
  /// Called at each tick of the lease keeper, while the lock node is granted.
  virtual void on_tick() ZKLOCK_REQUIRES(path_mutex) {}

 protected:
  ~LockNodeObserver() = default;
};

}  // namespace zklock::detail
