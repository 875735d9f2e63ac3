// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "zklock/client.h"
#include "zklock/deadline.h"

namespace zklock {

/// How request_release() asks. Every member has a default.
///
/// Thread-safety: a value.
struct RevocationOptions {
  /// Not a question: the holder turns `lost`, then its node goes.
  bool force = false;
  /// Whom to ask: the name of its node, Participant::node. By default the first who holds.
  std::optional<std::string> node = std::nullopt;
  /// How long to wait until that node is gone, whether or not the servers answer. One that has
  /// passed: it is asked, and not waited for.
  Deadline deadline = Deadline::never();
};

/// Asks a contender of the lock at `path` to let go, and waits until it has.
///
/// The holder hears of it by LockEvent::release_requested and Hold::release_requested(), a leader by
/// Leadership::release_requested(), and releases or not, as its program decides. With `force` the
/// library decides: the hold turns lost first, its lost() token is stopped, then its node is deleted
/// by the holder's own client. A contender that does not hold yet is asked as soon as it holds. A
/// holder that is dead cannot let go; its node goes with its session, and that ends the wait too.
/// One that has let go counts as the holder until its node is gone: who is next, and of the same
/// client, may hold already (see Hold::release()), and is not asked.
/// Of a MultiMutex or a QuorumMutex only the part is asked that is on this path, and on the servers
/// of this client: its hold hears of it, and the whole is lost as always, without enough parts.
///
/// A writer of a SharedMutex that is asked, and reads on, has not let go yet. Who waits at a
/// PriorityMutex has nothing to let go of: by default it is not asked, and where it is named, the
/// wait ends when it passes the gate.
///
/// Effects: creates an ephemeral node "revoke-<number>" beside the contender's, and deletes it when
/// the call ends, however it ends; it goes with the asker's session at the latest. Nobody's lock
/// node is touched. Holders look for it from their client's first tick after the grant on, of which
/// there are 20 in a session timeout: whoever has held longer hears of it at once, and most shorter
/// holds pay nothing.
///
/// Allowed is who may create below the lock's path, which is what the ACL of the parent says. Of
/// several askers who ask at once one that forces wins.
///
/// Blocks; an interruption point of Boost.Thread. Returns true when the contender's node is gone, or
/// there is none; false when the deadline came first: then the request has been taken back, but may
/// have been heard.
/// Throws: Error(invalid_path | invalid_option | no_auth | auth_failed | invalid_acl |
/// quota_exceeded | read_only | too_many_nodes | not_connected | closed | forked | server_error);
/// then too, and when it is interrupted. not_connected: no server answered for
/// ClientOptions::connection_timeout, and the deadline was not before that.
/// Source: org.apache.curator.framework.recipes.locks.Revoker.
///
/// Thread-safety: any thread.
bool request_release(Client& client, std::string path, RevocationOptions options = {});

}  // namespace zklock
