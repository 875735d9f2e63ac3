// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "zklock/hold.h"

namespace zklock::core {

/// Returns the cause of a loss as a clause for people.
constexpr std::string_view clause_of(LossReason reason) noexcept {
  switch (reason) {
    case LossReason::lease_expired: return "the lease expired";
    case LossReason::session_expired: return "the session ended";
    case LossReason::node_deleted: return "the znode was deleted";
    case LossReason::max_hold: return "the maximum hold time ended";
    case LossReason::forced: return "request_release() forced the release";
    case LossReason::closed: return "the client was closed";
  }
  return "unknown cause";
}

}  // namespace zklock::core
