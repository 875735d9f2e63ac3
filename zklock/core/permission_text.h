// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace zklock::core {

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
