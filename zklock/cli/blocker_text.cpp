// SPDX-License-Identifier: Apache-2.0
// Uses Hold::blocked_by() and Hold::loss_reason() if the library has them.
#include "zklock/cli/blocker_text.h"

#include <chrono>
#include <type_traits>

#include "zklock/cli/core/display_text.h"
#include "zklock/error.h"
#include "zklock/lock_observer.h"
#include "zklock/participant.h"

namespace zklock::cli {

namespace {

constexpr std::chrono::seconds kLongestRead{1};

std::string text_of_participant(const Participant& holder) {
  if (holder.host.empty()) return "the znode " + holder.node;
  std::string text = holder.host + " pid " + std::to_string(holder.pid);
  if (!holder.application.empty()) text += " (" + holder.application + ')';
  return text;
}

std::string text_of_state(const LockState& state) {
  std::string text = "not held";
  if (!state.holders.empty()) text = "held by " + text_of_participant(state.holders.front());
  if (state.holders.size() > 1) {
    text += " and " + std::to_string(state.holders.size() - 1) + " more";
  }
  if (state.waiting > 0) text += "; " + std::to_string(state.waiting) + " wait";
  return text;
}

template <class H>
std::string text_of_refusal(const H& refused, Client& client, const std::string& path) {
  if constexpr (requires { to_string(refused.blocked_by(kLongestRead)); }) {
    (void)client;
    (void)path;
    const auto state = refused.blocked_by(kLongestRead);
    return state.is_free() ? std::string() : to_string(state);
  } else {
    const LockState state = LockObserver(client, path).state(Deadline(kLongestRead));
    return state.is_free() ? std::string() : text_of_state(state);
  }
}

template <class H>
std::optional<LossCause> cause_of(const H& hold) {
  if (hold.is_valid()) return std::nullopt;
  if constexpr (requires { *hold.loss_reason(); }) {
    using Reason = std::remove_cvref_t<decltype(*hold.loss_reason())>;
    const auto reason = hold.loss_reason();
    if (!reason) return LossCause::unknown;
    switch (*reason) {
      case Reason::lease_expired: return LossCause::lease;
      case Reason::session_expired: return LossCause::session;
      case Reason::node_deleted: return LossCause::node;
      case Reason::max_hold: return LossCause::limit;
      case Reason::forced: return LossCause::forced;
      case Reason::closed: return LossCause::closed;
    }
  }
  return LossCause::unknown;
}

}  // namespace

std::string blocker_text(const Hold& refused, Client& client, const std::string& path) {
  try {
    return display_text(text_of_refusal(refused, client, path));
  } catch (const Error&) {
    return {};
  }
}

std::optional<LossCause> loss_cause(const Hold& hold) {
  return cause_of(hold);
}

}  // namespace zklock::cli
