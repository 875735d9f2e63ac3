// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace zklock {

/// The number that orders the grants of one lock path.
///
/// It is the czxid of the contender's node: the id of the ZooKeeper transaction that created it.
/// Over the grants of one path it strictly increases, whatever session or process got them, also
/// across restarts of the servers and deletion of the parent (unlike the sequence number in the
/// node's name, which starts again with the parent). A reentrant grant repeats its token.
///
/// Send it along with every write to the resource that the lock protects, and let the resource
/// refuse a token lower than the highest it has seen: then it is safe under any timing.
/// Source: Kleppmann, "How to do distributed locking"; Burrows, "The Chubby lock service", 2.4.
///
/// Thread-safety: a value.
struct FencingToken {
  /// 0 is the token of an empty Hold, lower than that of any grant.
  std::int64_t zxid = 0;

  friend auto operator<=>(const FencingToken&, const FencingToken&) = default;
};

}  // namespace zklock
