// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "zklock/client/port/coordinator.h"

namespace zklock::client {

/// Sends `first`, and directly after it a Get of `path`. Calls `handler` once, with both replies,
/// when both have arrived. Returns the ids of the two requests. `wanted_since`: see Request.
///
/// The server executes the Get after `first`. If `first` is a quorum operation, the Get shows a
/// state at least as new as the result of `first`. This also holds if the Get is sent over a later
/// connection, because a session never sees an older state than before. The caller must check the
/// identity of the znode: after the parent is deleted and recreated, another znode may have the
/// name.
std::pair<RequestId, RequestId> submit_then_get(
    Coordinator& coordinator, Operation first, std::string path, SessionId session,
    std::function<void(const Reply& first, const Reply& node)> handler, Instant wanted_since = {});

/// Reads `path` by the quorum: a Check, then a Get. Without the Check, a server that lags behind
/// would still show a znode that is deleted. Calls `handler` once, with the reply to the Get. If
/// the Check returns anything but ok, passes its reply instead. Exception: without READ permission,
/// passes the reply to an exists, with Reply::unreadable. If that exists is refused, sends an
/// exists of the parent. If this is ok, passes a reply that is_without_stat() and has it as
/// `parent`. Otherwise passes the reply of the parent.
/// REQUIRES: `coordinator` calls no handler after its destruction.
void get_by_quorum(Coordinator& coordinator, std::string path, SessionId session,
                   ReplyHandler handler);

}  // namespace zklock::client
