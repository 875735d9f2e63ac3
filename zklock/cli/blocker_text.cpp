// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/blocker_text.h"

#include <chrono>

#include "zklock/cli/core/display_text.h"

namespace zklock::cli {

std::string blocker_text(const LockState& state, const LockChoice& lock) {
  if (state.is_free()) return {};
  if (!state.holders.empty()) return display_text(to_string(state));
  // to_string() says only that the lock is not held.
  const bool is_shared_count = lock.permits && !lock.of;
  return std::string(is_shared_count ? "no permit is held; the stored count may be too low"
                                     : "the last holder has just released, or a lock delay runs") +
         "; " + std::to_string(state.waiting) + (state.waiting == 1 ? " waits" : " wait");
}

std::string blocker_text(const Hold& refused, const LockChoice& lock) {
  return blocker_text(refused.blocked_by(std::chrono::seconds(1)), lock);
}

std::optional<LossCause> loss_cause(const Hold& hold) {
  const auto reason = hold.loss_reason();
  if (!reason) return std::nullopt;
  switch (*reason) {
    case LossReason::lease_expired: return LossCause::lease;
    case LossReason::session_expired: return LossCause::session;
    case LossReason::node_deleted: return LossCause::node;
    case LossReason::max_hold: return LossCause::limit;
    case LossReason::forced: return LossCause::forced;
    case LossReason::closed: break;
  }
  return LossCause::closed;
}

}  // namespace zklock::cli
