// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "zklock/engine/session/engine_lock.h"
#include "zklock/fencing_token.h"

namespace zklock::detail {

class LockNode;

/// Maps a predecessor znode of this session to the lock node of this client that waits directly
/// behind it. When the holder of the predecessor releases, that lock node is granted at once,
/// without waiting for the watch event.
///
/// Why this is safe: the queue is in the order of arrival, and the lock node waits for that znode
/// alone. So no contender can be between the two. When the predecessor was granted, every contender
/// ahead of it had released or its znode had been deleted. The order of the queue does not change,
/// and each lock node has its own znode and token. Both znodes belong to one session, so they have
/// one lease.
///
/// For a moment both znodes exist, although the first one is released. Contenders of other clients
/// wait for the second one only. But a transaction that checks the first znode could still succeed.
/// So there is no direct grant if such a transaction is possible, or if other znodes are deleted
/// with the first one. Then the lock node waits for the delete (see Contender::drop() and
/// LockNode::session_successor()).
///
/// Thread-safety: none. REQUIRES: the engine mutex is held. The path lock owns this object.
class SessionHandoff {
 public:
  /// Registers `lock_node`, which waits for the znode with the czxid `predecessor`. Replaces a lock
  /// node that is registered for that predecessor already. There is one only if its own znode was
  /// deleted and this client has not received that event yet.
  void add(FencingToken predecessor, std::weak_ptr<LockNode> lock_node) {
    waiting_[predecessor.zxid] = std::move(lock_node);
  }
  /// Removes `lock_node`, which does not wait for that znode any more.
  void remove(FencingToken predecessor, const std::weak_ptr<LockNode>& lock_node) noexcept {
    const auto found = waiting_.find(predecessor.zxid);
    if (found == waiting_.end()) return;
    // Compares without lock(), which could make this function drop the last reference.
    const std::weak_ptr<LockNode>& waiter = found->second;
    const bool same = !waiter.owner_before(lock_node) && !lock_node.owner_before(waiter);
    if (same) waiting_.erase(found);
  }
  void clear() noexcept { waiting_.clear(); }
  /// Returns the lock node that waits for the znode with this czxid, or null.
  std::shared_ptr<LockNode> successor_of(FencingToken predecessor) const noexcept {
    const auto found = waiting_.find(predecessor.zxid);
    return found == waiting_.end() ? nullptr : found->second.lock();
  }

  bool empty() const noexcept { return waiting_.empty(); }

 private:
  std::unordered_map<std::int64_t, std::weak_ptr<LockNode>> waiting_;
};

}  // namespace zklock::detail
