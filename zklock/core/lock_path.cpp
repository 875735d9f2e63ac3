// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/lock_path.h"

#include <cstddef>
#include <utility>

#include "zklock/core/utf8.h"
#include "zklock/core/znode_data.h"
#include "zklock/error.h"

namespace zklock::core {
namespace {

constexpr std::size_t kMaxPathBytes = 1024;
constexpr std::size_t kMaxShownBytes = 128;
constexpr std::string_view kReserved = "/zookeeper";

/// Returns the fault of the characters; empty if there is none.
std::string_view fault_of_characters(std::string_view path) noexcept {
  while (!path.empty()) {
    const auto character = first_character(path);
    if (!character.valid) return "the path is not valid UTF-8";
    const char32_t code = character.code;
    if (is_control(code)) return "the path has a control character";
    const bool private_use = code >= 0xE000 && code <= 0xF8FF;
    const bool special = code >= 0xFFF0 && code <= 0xFFFF;
    // Servers check UTF-16, in which these characters are pairs of refused surrogates.
    const bool outside_plane_0 = code > 0xFFFF;
    if (private_use || special || outside_plane_0) {
      return "the path has a character that ZooKeeper does not allow";
    }
    path.remove_prefix(character.length);
  }
  return {};
}

/// Returns the fault of a path that begins with a slash; empty if there is none.
std::string_view fault_of_components(std::string_view path) noexcept {
  if (path == "/") return {};
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto component = path.substr(0, path.find('/'));
    path.remove_prefix(component.size());
    if (component == ".") return "the path has a \".\" component";
    if (component == "..") return "the path has a \"..\" component";
    if (!component.empty()) continue;
    return path.empty() ? "the path ends with a slash" : "the path has an empty component";
  }
  return {};
}

std::string_view fault_of(std::string_view path) noexcept {
  if (path.empty()) return "the path is empty";
  if (path.size() > kMaxPathBytes) return "the path is longer than 1024 bytes";
  if (const auto fault = fault_of_characters(path); !fault.empty()) return fault;
  if (path.front() != '/') return "the path does not begin with a slash";
  return fault_of_components(path);
}

std::string_view fault_of_lock(std::string_view path) noexcept {
  if (path == "/") return "the root cannot be a lock path";
  if (path == kReserved || (path.starts_with(kReserved) && path[kReserved.size()] == '/')) {
    return "/zookeeper is reserved for the servers";
  }
  return {};
}

void refuse(std::string_view operation, std::string_view path, std::string_view fault) {
  if (fault.empty()) return;
  throw Error(Errc::invalid_path, operation, printable(path, kMaxShownBytes), fault);
}

}  // namespace

LockPath::LockPath(std::string path) : path_(std::move(path)) {
  refuse("lock", path_, fault_of_lock(path_));
  refuse("lock", path_, fault_of(path_));
}

void check_path(std::string_view operation, std::string_view path) {
  refuse(operation, path, fault_of(path));
}

std::string LockPath::child(std::string_view name) const {
  std::string result;
  result.reserve(path_.size() + 1 + name.size());
  result.append(path_) += '/';
  result.append(name);
  return result;
}

}  // namespace zklock::core
