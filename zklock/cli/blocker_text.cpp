// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/blocker_text.h"

#include <chrono>

#include "zklock/cli/core/counted.h"
#include "zklock/cli/core/display_text.h"
#include "zklock/error.h"

namespace zklock::cli {

std::string blocker_text(const LockState& state, const LockChoice& lock) {
  if (state.is_free() && !state.lock_delay) return {};
  if (!state.holders.empty() || state.lock_delay) return display_text(to_string(state));
  // to_string() says only that the lock is not held.
  const bool is_shared_count = lock.permits && !lock.of;
  return std::string(is_shared_count ? "no permit is held; the stored count may be too low"
                                     : "the last holder has just released") +
         "; " + counted(state.waiting, "waits", "wait");
}

std::string blocker_text(const Hold& refused, const LockChoice& lock) {
  return blocker_text(refused.blocked_by(std::chrono::seconds(1)), lock);
}

std::string not_acquired_text(const std::optional<Duration>& wait, const std::string& blocker) {
  std::string text = "not acquired";
  if (wait) text += " in " + text_of(*wait);
  if (!blocker.empty()) text += ": " + blocker;
  return text;
}

bool is_settled(Client& client, Deadline deadline) {
  try {
    return client.is_connected() && client.flush(deadline);
  } catch (const Error&) {
    return false;
  }
}

std::string unconfirmed_text(Duration session_timeout) {
  return "the release is not confirmed: the lock becomes free when the session ends, at the latest "
         "in " +
         text_of(session_timeout);
}

}  // namespace zklock::cli
