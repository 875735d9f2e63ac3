// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/client/port/coordinator.h"
#include "zklock/core/status.h"
#include "zklock/engine/blocking_requests.h"

namespace zklock::detail {

/// Sends the request again, after a pause, as long as core::is_temporary_failure() is true of its
/// status. Returns the first other reply. Blocks and throws as BlockingRequests::run() does.
/// REQUIRES: the request may be executed more than once.
inline client::Reply request_until_final(BlockingRequests& query,
                                         const client::Operation& operation) {
  for (;;) {
    client::Reply reply = query.run(operation);
    if (!core::is_temporary_failure(reply.status)) return reply;
    BlockingRequests::pause();
  }
}

}  // namespace zklock::detail
