// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/export.h"
#include "zklock/participant.h"

namespace zklock {

/// Deletes the lock znode of one contender, without its cooperation. This is for a contender of
/// another library, and for a znode that has outlived its session. For a contender of zklock, use
/// request_release() with `force`.
///
/// If the evicted contender holds, another contender can be granted before the evicted one learns
/// of that. So two guarantees do not hold for it: exclusion (G2), and notice of the loss before the
/// next grant (G3). Its fencing token still protects the resource.
///
/// `contender` is an element of participants(), or of a Survey. Returns true if its znode is
/// deleted, by this call or earlier. Returns false, and deletes nothing, if the znode of that name
/// has another token or session. If a SharedMutex's writer has downgraded meanwhile, its znode has
/// another name. Then the call returns true, and the new znode stays.
///
/// Reads the znode by the quorum, and then sends the delete at once, in the session of the read.
/// Blocks for two round trips, at most until the deadline; without one, for
/// ClientOptions::connection_timeout. An interruption point of Boost.Thread. If the delete cannot
/// be sent at once, or its reply is lost, reads the znode again before the next delete.
///
/// A delete names only a path and a data version, which is 0 for most lock znodes. So the call can
/// delete another contender's znode. This happens if, within the two round trips, the znode and
/// then its empty parent are deleted, and a new contender gets the same path.
///
/// Throws: Error(invalid_path | invalid_option | no_auth | auth_failed | read_only | not_connected
/// | closed | forked | server_error). The code no_auth means that the ACL of the lock's path
/// refuses the delete, or that the ACL of the znode refuses the read. The code invalid_option means
/// that Participant::node cannot be the name of a contender's znode. After not_connected, the znode
/// may be deleted.
///
/// Thread-safety: any thread.
[[nodiscard]] ZKLOCK_EXPORT bool evict(Client& client, std::string path,
                                       const Participant& contender,
                                       Deadline deadline = Deadline::never());

}  // namespace zklock
