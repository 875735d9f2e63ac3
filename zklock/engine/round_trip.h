// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "zklock/client/port/coordinator.h"
#include "zklock/deadline.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/time_limit.h"

namespace zklock::detail {

/// Returns the deadline of a round trip that begins now: that of `limit`. If `limit` has none,
/// returns ClientOptions::connection_timeout from now.
Deadline round_trip_deadline(EngineContext& core, const TimeLimit& limit);

/// Returns the cause of Error(not_connected) for a call that began at `began`, and had no reply
/// before its deadline.
std::string no_reply_text(EngineContext& core, core::Instant began);

/// Called for each reply when it arrives. It may change the reply.
using OnReply = std::function<void(client::Reply&)>;

/// Sends the requests on the current session and blocks until all replies have arrived. Returns the
/// replies in the order of the requests. Returns nothing if `limit` came first; then requests that
/// have not been sent are never sent. Calls `on_reply` for each reply, also for replies after
/// `limit`. ClientOptions::connection_timeout does not apply. An interruption point of
/// Boost.Thread. If `session` is not 0, a request is sent only on that session, and does not wait
/// for a connection; see client::Request. REQUIRES: no request has a watch; `on_reply` does not
/// block.
///
/// Thread-safety: any thread may call it.
std::optional<std::vector<client::Reply>> round_trip(EngineContext& core, Deadline limit,
                                                     std::vector<client::Operation> operations,
                                                     const OnReply& on_reply = {},
                                                     client::SessionId session = {});

}  // namespace zklock::detail
