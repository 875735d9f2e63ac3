// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

#include "zklock/lease_clock.h"

namespace zklock::core {

using Instant = LeaseClock::time_point;
using Duration = LeaseClock::duration;

/// Which session: every request, reply and event names its own, so that what is left of an older
/// one is never mistaken for news of the current one. 0: none.
struct SessionId {
  std::int64_t value = 0;
  friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

}  // namespace zklock::core
