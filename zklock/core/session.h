// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

#include "zklock/fencing_token.h"
#include "zklock/lease_clock.h"

namespace zklock::core {

using Instant = LeaseClock::time_point;
using Duration = LeaseClock::duration;

/// The id of a transaction of the ensemble. The zxid of the create of a contender's znode, its
/// czxid, is the fencing token of the grant.
using Zxid = FencingToken;

/// The id of a session; 0: none. Every request, reply and event names its session. So a late one of
/// an older session is not taken for one of the current session.
struct SessionId {
  std::int64_t value = 0;
  friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

}  // namespace zklock::core
