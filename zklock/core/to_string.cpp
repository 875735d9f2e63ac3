// SPDX-License-Identifier: Apache-2.0
// The texts of public types.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>

#include "zklock/client.h"
#include "zklock/core/cause_texts.h"
#include "zklock/core/znode_data.h"
#include "zklock/error.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/lock_event.h"
#include "zklock/lock_state.h"
#include "zklock/log.h"
#include "zklock/participant.h"

namespace zklock {

// ---- enumerations and the token -----------------------------------------------------------------

std::string_view to_string(HoldState state) noexcept {
  switch (state) {
    case HoldState::held: return "held";
    case HoldState::suspended: return "suspended";
    case HoldState::lost: return "lost";
  }
  return "unknown";
}

std::string_view to_string(LossReason reason) noexcept {
  switch (reason) {
    case LossReason::lease_expired: return "lease_expired";
    case LossReason::session_expired: return "session_expired";
    case LossReason::node_deleted: return "node_deleted";
    case LossReason::max_hold: return "max_hold";
    case LossReason::forced: return "forced";
    case LossReason::closed: return "closed";
  }
  return "unknown";
}

std::string_view to_string(ConnectionState state) noexcept {
  switch (state) {
    case ConnectionState::connected: return "connected";
    case ConnectionState::suspended: return "suspended";
    case ConnectionState::reconnected: return "reconnected";
    case ConnectionState::lost: return "lost";
  }
  return "unknown";
}

std::string_view to_string(LockEvent::Kind kind) noexcept {
  switch (kind) {
    case LockEvent::Kind::waiting: return "waiting";
    case LockEvent::Kind::acquired: return "acquired";
    case LockEvent::Kind::suspended: return "suspended";
    case LockEvent::Kind::resumed: return "resumed";
    case LockEvent::Kind::release_requested: return "release_requested";
    case LockEvent::Kind::expiring: return "expiring";
    case LockEvent::Kind::expired: return "expired";
    case LockEvent::Kind::released: return "released";
    case LockEvent::Kind::lost: return "lost";
  }
  return "unknown";
}

std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "unknown";
}

std::string to_string(const FencingToken& token) {
  return std::to_string(token.zxid) + "." + std::to_string(token.grant_index);
}

std::ostream& operator<<(std::ostream& out, Errc code) {
  return out << to_string(code);
}

std::ostream& operator<<(std::ostream& out, HoldState state) {
  return out << to_string(state);
}

std::ostream& operator<<(std::ostream& out, LossReason reason) {
  return out << to_string(reason);
}

std::ostream& operator<<(std::ostream& out, ConnectionState state) {
  return out << to_string(state);
}

std::ostream& operator<<(std::ostream& out, LockEvent::Kind kind) {
  return out << to_string(kind);
}

std::ostream& operator<<(std::ostream& out, LogLevel level) {
  return out << to_string(level);
}

std::ostream& operator<<(std::ostream& out, const FencingToken& token) {
  return out << to_string(token);
}

// ---- a contender --------------------------------------------------------------------------------
// A program can make a Participant of any texts, so they are escaped here.

namespace {

constexpr std::size_t kMaxNameBytes = 128;  ///< of a znode's name

std::string in_hexadecimal(std::int64_t number) {
  char digits[16];
  const auto end =
      std::to_chars(std::begin(digits), std::end(digits), static_cast<std::uint64_t>(number), 16)
          .ptr;
  return "0x" + std::string(std::begin(digits), end);
}

/// Returns host and process, or the znode if its data do not name them.
std::string place_of(const Participant& participant) {
  std::string text = core::printable(participant.host, core::kMaxValueBytes);
  if (participant.pid != 0) {
    if (!text.empty()) text += ' ';
    text += "pid " + std::to_string(participant.pid);
  }
  if (!text.empty()) return text;
  text = "znode " + core::printable(participant.node, kMaxNameBytes);
  if (participant.session_id != 0) text += " of session " + in_hexadecimal(participant.session_id);
  return text;
}

/// Returns application, label and note; empty if there are none.
std::string purpose_of(const Participant& participant) {
  std::string text = core::printable(participant.application, core::kMaxValueBytes);
  const std::string label = core::printable(participant.label, core::kMaxValueBytes);
  if (!text.empty() && !label.empty()) text += '/';
  text += label;
  if (participant.note.empty()) return text;
  if (!text.empty()) text += ", ";
  return text + core::quoted(core::printable(participant.note, core::kMaxNoteBytes));
}

}  // namespace

std::string to_string(const Participant& participant) {
  const std::string purpose = purpose_of(participant);
  if (purpose.empty()) return place_of(participant);
  return place_of(participant) + " (" + purpose + ")";
}

// ---- the state of a lock, and a duration --------------------------------------------------------

namespace {

struct TimeUnit {
  std::int64_t seconds;
  const char* suffix;
};
/// The last element stands for the unit after seconds: there is none.
constexpr std::array<TimeUnit, 5> kTimeUnits{
    {{86'400, " d"}, {3'600, " h"}, {60, " m"}, {1, " s"}, {0, ""}}};

std::string waiting_text(std::size_t waiting) {
  if (waiting == 0) return "none waits";
  return std::to_string(waiting) + (waiting == 1 ? " waits" : " wait");
}

}  // namespace

std::string duration_text(std::chrono::milliseconds duration) {
  const std::int64_t ms = std::max<std::int64_t>(duration.count(), 0);
  if (ms < 1000) return std::to_string(ms) + " ms";
  const std::int64_t seconds = ms / 1000;
  std::size_t largest = 0;
  while (kTimeUnits[largest].seconds > seconds) ++largest;
  const TimeUnit& unit = kTimeUnits[largest];
  const TimeUnit& next = kTimeUnits[largest + 1];
  std::string text = std::to_string(seconds / unit.seconds) + unit.suffix;
  const std::int64_t rest = seconds % unit.seconds;
  if (rest == 0 || rest < next.seconds) return text;
  return text + " " + std::to_string(rest / next.seconds) + next.suffix;
}

std::string to_string(const LockState& state, std::chrono::system_clock::time_point now) {
  using std::chrono::milliseconds;
  if (state.lock_delay) {
    return "lock delay of " + duration_text(*state.lock_delay) + "; " + waiting_text(state.waiting);
  }
  if (state.is_free()) return "free";
  if (state.holders.empty()) return "not held; " + waiting_text(state.waiting);
  const Participant& first = state.holders.front();
  std::string text = "held by " + to_string(first);
  if (first.held_since) {
    // Milliseconds: the difference of any two times in nanoseconds could overflow.
    const auto since = std::chrono::floor<milliseconds>(*first.held_since);
    text += " for " + duration_text(std::chrono::floor<milliseconds>(now) - since);
  }
  const std::size_t all = std::max(state.holding, state.holders.size());
  if (all > 1) text += " and " + std::to_string(all - 1) + " more";
  return text + "; " + waiting_text(state.waiting);
}

}  // namespace zklock
