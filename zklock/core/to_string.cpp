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

namespace zklock {

std::string_view to_string(Errc code) noexcept {
  switch (code) {
    case Errc::invalid_path: return "invalid_path";
    case Errc::invalid_hosts: return "invalid_hosts";
    case Errc::invalid_option: return "invalid_option";
    case Errc::not_connected: return "not_connected";
    case Errc::session_expired: return "session_expired";
    case Errc::node_deleted: return "node_deleted";
    case Errc::lock_lost: return "lock_lost";
    case Errc::not_owner: return "not_owner";
    case Errc::closed: return "closed";
    case Errc::forked: return "forked";
    case Errc::no_auth: return "no_auth";
    case Errc::auth_failed: return "auth_failed";
    case Errc::invalid_acl: return "invalid_acl";
    case Errc::quota_exceeded: return "quota_exceeded";
    case Errc::read_only: return "read_only";
    case Errc::sequence_exhausted: return "sequence_exhausted";
    case Errc::too_many_nodes: return "too_many_nodes";
    case Errc::too_many_watches: return "too_many_watches";
    case Errc::no_chroot: return "no_chroot";
    case Errc::unsupported: return "unsupported";
    case Errc::server_error: return "server_error";
    case Errc::would_deadlock: return "would_deadlock";
    case Errc::settings_mismatch: return "settings_mismatch";
    case Errc::no_node: return "no_node";
    case Errc::node_exists: return "node_exists";
    case Errc::not_empty: return "not_empty";
    case Errc::version_mismatch: return "version_mismatch";
    case Errc::too_large: return "too_large";
    case Errc::outcome_unknown: return "outcome_unknown";
    case Errc::bad_data: return "bad_data";
  }
  return "unknown";
}

std::string_view to_string(HoldState state) noexcept {
  switch (state) {
    case HoldState::held: return "held";
    case HoldState::suspended: return "suspended";
    case HoldState::lost: return "lost";
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

std::string to_string(const FencingToken& token) {
  return std::to_string(token.zxid) + "." + std::to_string(token.grant_index);
}

std::ostream& operator<<(std::ostream& out, Errc code) {
  return out << to_string(code);
}

std::ostream& operator<<(std::ostream& out, HoldState state) {
  return out << to_string(state);
}

std::ostream& operator<<(std::ostream& out, ConnectionState state) {
  return out << to_string(state);
}

std::ostream& operator<<(std::ostream& out, LockEvent::Kind kind) {
  return out << to_string(kind);
}

std::ostream& operator<<(std::ostream& out, const FencingToken& token) {
  return out << to_string(token);
}

}  // namespace zklock
