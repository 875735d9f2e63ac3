// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace zklock::client {

/// Returns the path of the child `name` of `parent`.
inline std::string join(std::string_view parent, std::string_view name) {
  std::string path;
  path.reserve(parent.size() + 1 + name.size());
  if (parent != "/") path = parent;
  path += '/';
  path += name;
  return path;
}

/// Returns `chroot` and `path` joined: the path on the servers. An empty `chroot` is none. The C
/// client can prepend a chroot itself, but then frees memory twice if a session ends during a
/// transaction.
inline std::string full_path(std::string_view chroot, std::string path) {
  if (path == "/" && !chroot.empty()) path.clear();
  path.insert(0, chroot);
  return path;
}

/// Returns the full path of the child `name` of `parent`.
inline std::string full_path(std::string_view chroot, std::string_view parent,
                             std::string_view name) {
  if (parent == "/") return join(chroot, name);
  std::string path;
  path.reserve(chroot.size() + parent.size() + 1 + name.size());
  path.append(chroot).append(parent).append("/").append(name);
  return path;
}

/// Returns whether the C client accepts the path.
inline bool is_valid_path(std::string_view path) noexcept {
  if (path.empty() || path.front() != '/') return false;
  while (path.size() > 1) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    if (name.empty() || name == "." || name == "..") return false;
    for (const char c : name) {
      if (static_cast<unsigned char>(c) < 0x20) return false;
    }
    path.remove_prefix(name.size());
    if (path == "/") return false;
  }
  return true;
}

/// Returns the parent of a path; "/" for a child of the root.
inline std::string_view parent_of(std::string_view path) noexcept {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? std::string_view("/")
                                                       : path.substr(0, slash);
}

inline std::string_view name_of(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace zklock::client
