// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "zklock/client/coordinator.h"

namespace zklock::client {

/// Sends `first`, a quorum operation, and behind it a Get of `path`, which the server makes after
/// it: so what that shows is no older than what the quorum said. A name says little: where a parent
/// was deleted, and made anew, another node may have it.
///
/// That is so, too, where the Get went over a later connection: a session never goes back behind
/// what it has been answered.
///
/// `handler` is called once, with both replies, when both have come.
void submit_then_get(Coordinator& coordinator, Operation first, std::string path, SessionId session,
                     std::function<void(const Reply& first, const Reply& node)> handler);

}  // namespace zklock::client
