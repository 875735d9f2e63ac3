// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "zklock/export.h"

namespace zklock {

/// The token that orders the grants of one lock path.
///
/// Over the grants of one path the token strictly increases, in whatever session or process they
/// are made. That also holds across restarts of the servers and deletion of the parent. A reentrant
/// grant repeats its token. The order ends if the ensemble is emptied or restored from an older
/// backup: its zxids start lower again. Then reset the highest token that the resource has stored.
///
/// The first part is the czxid of the znode that was granted: the id of the ZooKeeper transaction
/// that created it. A downgrade changes the znode, but not the token. The sequence number in the
/// znode's name is no token: it begins again at 0 when the parent is recreated. The second part
/// distinguishes the grants on one znode, see CohortOptions::max_local_handoffs and keep_idle_for.
///
/// Send the token with every write to the resource that the lock protects. Let the resource refuse
/// a token lower than the highest it has seen. Then the resource is safe under any timing. The
/// check is for exclusive holds. Readers, and holders of permits, hold together with different
/// tokens, so the resource would refuse some of them. With default options, `zxid` alone is the
/// token.
/// Source: Kleppmann, "How to do distributed locking".
/// Source: Burrows, "The Chubby lock service", 2.4.
///
/// Thread-safety: a value.
struct FencingToken {
  /// 0 in an empty Hold, lower than in any grant.
  std::int64_t zxid = 0;
  /// The number of earlier grants on the znode. It is always 0 with the defaults of
  /// max_local_handoffs and keep_idle_for. The zxid alone never decreases, and grants of different
  /// clients never share one. So a resource that compares only the zxid refuses late writes of
  /// other clients. It does not refuse those of an earlier grant on the znode.
  std::uint64_t grant_index = 0;

  /// Compares zxid, then grant_index.
  friend auto operator<=>(const FencingToken&, const FencingToken&) = default;
};

/// Returns both parts in decimal, for example "12884901893.0". The text is for people: it does not
/// sort as the token does.
[[nodiscard]] ZKLOCK_EXPORT std::string to_string(const FencingToken& token);
/// Writes to_string().
ZKLOCK_EXPORT std::ostream& operator<<(std::ostream& out, const FencingToken& token);

}  // namespace zklock
