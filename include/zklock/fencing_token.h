// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace zklock {

/// The number that orders the grants of one lock path.
///
/// It is the czxid of the contender's node: the id of the ZooKeeper transaction that created it;
/// and then, where several grants are made on one node (MutexOptions::local_batch and keep_idle),
/// which of them it is. Over the grants of one path it strictly increases, whatever session or
/// process got them, also across restarts of the servers and deletion of the parent (unlike the
/// sequence number in the node's name, which starts again with the parent). A reentrant grant
/// repeats its token. The order ends if the ensemble is emptied or restored from an older backup: its
/// zxids start lower again. Then reset the highest token that the resource has stored.
///
/// Send it along with every write to the resource that the lock protects, and let the resource
/// refuse a token lower than the highest it has seen: then it is safe under any timing.
/// Source: Kleppmann, "How to do distributed locking"; Burrows, "The Chubby lock service", 2.4.
///
/// Thread-safety: a value.
struct FencingToken {
  /// 0 is the token of an empty Hold, lower than that of any grant.
  std::int64_t zxid = 0;
  /// 0 is that of a node's first grant; it stays 0 without these options. The zxid alone never
  /// decreases, and grants of different clients never have the same: a resource that can compare
  /// only one number is safe from other clients, and leaves it to the lock to keep those of one
  /// client apart.
  std::uint64_t turn = 0;

  friend auto operator<=>(const FencingToken&, const FencingToken&) = default;
};

}  // namespace zklock
