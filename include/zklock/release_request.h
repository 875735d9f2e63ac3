// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "zklock/client.h"
#include "zklock/deadline.h"
#include "zklock/export.h"

namespace zklock {

/// Options of request_release(). Every member has a default.
///
/// Thread-safety: a value.
struct ReleaseRequestOptions {
  /// true: the holder cannot refuse. Its hold turns `lost`, and then its znode is deleted.
  bool force = false;
  /// The contender that the request is for, by the name of its znode: Participant::node, not the
  /// path that Hold::node() returns. By default the first contender that holds or, if none holds,
  /// the first in the queue.
  std::optional<std::string> node = std::nullopt;
  /// The time at which the call stops waiting for the deletion of that znode, even if no server
  /// answers. If the deadline has already passed, the call sends the request, and withdraws it
  /// without waiting. A holder that does not watch for requests yet never receives it.
  Deadline deadline = Deadline::never();
};

/// Requests that a contender of the lock at `path` releases it, and waits until its znode is
/// deleted.
///
/// Creates an ephemeral znode "release-request-<number>" beside the contender's znode. Deletes it
/// in the background when the call returns or throws, or at the latest when the caller's session
/// ends. The lock znodes themselves are not changed.
///
/// Returns true when the contender's znode is deleted, or if the lock has no contender that could
/// release it. Returns false if the deadline passed first. The request is then withdrawn, but the
/// contender may have received it.
///
/// Blocks; an interruption point of Boost.Thread. An interruption also withdraws the request.
///
/// Throws: Error(invalid_path | invalid_option | no_auth | auth_failed | invalid_acl |
/// quota_exceeded | read_only | too_many_nodes | not_connected | closed | forked | server_error).
/// An error withdraws the request, too. The code not_connected means that no server answered for
/// ClientOptions::connection_timeout, and that the call had no deadline or was a single attempt.
/// The code no_auth means that the ACL of the lock's path does not permit this client to create
/// children. The code invalid_option means that `node` cannot be the name of a contender's znode.
///
/// A holder receives LockEvent::release_requested, and its Hold::release_request_token() is
/// stopped. For a leader, Leadership::release_request_token() is stopped. The program decides
/// whether to release. With `force` the library decides: the hold turns lost and its loss_token()
/// is stopped. Then the holder's own client deletes the znode. If several calls are for one
/// contender and one of them forces, it is forced. A contender that does not hold yet receives the
/// request when it holds.
///
/// The client of a holder begins to watch for requests within a twentieth of the session timeout
/// after the grant. It then receives earlier requests, too. A hold that ends within that time costs
/// no ZooKeeper request for the watch.
///
/// A holder that has crashed cannot release. Its znode is deleted when its session expires, which
/// also ends the wait. A holder that has released counts as the holder until its znode is deleted.
/// The next contender of its client may already hold (see Hold::release()). That contender does not
/// receive the request.
///
/// SharedMutex: a writer that downgrades has not released. The call then requests the release of
/// its read lock, and waits until that is released, too.
///
/// PriorityMutex: a contender at the gate has nothing to release, and no request is for it by
/// default. If it is named, the wait ends when it passes the gate.
///
/// MultiMutex and QuorumMutex: the request is for one part only, on this path and this client's
/// ensemble. Only that part's hold is notified. If too few parts remain, the CompositeHold is lost.
///
/// Source: org.apache.curator.framework.recipes.locks.Revoker.
///
/// Thread-safety: any thread.
[[nodiscard]] ZKLOCK_EXPORT bool request_release(Client& client, std::string path,
                                                 ReleaseRequestOptions options = {});

}  // namespace zklock
