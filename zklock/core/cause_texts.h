// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "zklock/core/session.h"
#include "zklock/hold.h"

namespace zklock::core {

/// Returns the text in double quotes. A quote or backslash in it gets a backslash.
inline std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result += '"';
}

/// Returns the cause of an error: no server has answered for that long. `problem`: what prevents a
/// connection; it may be empty.
inline std::string no_server_answered(Duration waited, std::string_view problem) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  std::string text = "no server answered within " + std::to_string(ms) + " ms";
  if (!problem.empty()) text.append(": ").append(problem);
  return text;
}

/// Returns the cause of an error: the chroot on `servers` does not exist.
inline std::string missing_chroot(std::string_view chroot, std::string_view servers) {
  std::string text = "the chroot ";
  text.append(chroot).append(" of ").append(servers);
  return text + " does not exist; create it, or set ClientOptions::create_chroot";
}

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

/// Returns the text of a credential, without its secret: "credential digest:orders". `user`: the
/// user of the digest credential.
inline std::string credential_text(std::string_view user) {
  return "credential digest:" + std::string(user);
}

/// Returns the cause of an error: the ACL of `path` does not permit `permission`, such as "CREATE".
/// `user`: the user of the client's digest credential; empty if it has none.
inline std::string no_permission(std::string_view permission, std::string_view path,
                                 std::string_view user) {
  std::string text = "the ACL of ";
  text.append(path).append(" does not permit ").append(permission);
  if (user.empty()) return text + " without a credential";
  return text + " with the " + credential_text(user);
}

/// Returns what to do after no_permission(): a clause to append, or nothing.
inline std::string_view permission_advice(std::string_view user) noexcept {
  return user.empty() ? "; set ClientOptions::digest" : "";
}

}  // namespace zklock::core
