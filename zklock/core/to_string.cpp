// SPDX-License-Identifier: Apache-2.0
// The texts of the public enumerations and of the token.
#include <ostream>
#include <string>
#include <string_view>

#include "zklock/client.h"
#include "zklock/error.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/lock_event.h"
#include "zklock/log.h"

namespace zklock {

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

}  // namespace zklock
