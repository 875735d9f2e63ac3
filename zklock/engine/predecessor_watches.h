// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "zklock/client/port/coordinator.h"
#include "zklock/core/few.h"
#include "zklock/fencing_token.h"

namespace zklock::detail {

class LockNode;

/// The watches on the predecessors of a lock node: one, or several in the queue of a semaphore.
/// Replies and events go to the acquire machine of the lock node. While the watched predecessor is
/// a znode of this client and session, the lock node is registered in the path lock's LocalHandoff.
///
/// Thread-safety: none. REQUIRES: within a Section of the path lock. Every `lock node` is the lock
/// node that owns this object.
class PredecessorWatches {
 public:
  /// Reads and watches the child `node`, on the session of the own znode.
  void watch(LockNode& lock_node, const std::string& node, core::SessionId session);
  /// Forgets and removes all watches.
  void end(LockNode& lock_node) noexcept;
  /// Forgets all watches without removing them: the watched znode, the own znode or the session has
  /// ended or is about to.
  void drop(LockNode& lock_node) noexcept;
  /// Returns whether the last watch was requested on the current connection.
  bool on_same_connection(const LockNode& lock_node) const noexcept;
  /// Returns the czxid of the predecessor that was watched last.
  FencingToken token() const noexcept { return token_; }

 private:
  void answered(LockNode& lock_node, std::uint32_t serial, const client::Reply& reply);
  /// Forgets one watch. Returns false if it has fired or was forgotten before.
  bool forget(LockNode& lock_node, std::uint32_t serial) noexcept;

  struct Watch {
    std::uint32_t serial;
    client::RequestId id;
  };

  core::Few<Watch> watches_;
  FencingToken token_{};
  std::uint32_t last_ = 0;
  std::uint32_t connection_ = 0;  ///< low bits of the connection count
};

}  // namespace zklock::detail
