// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace zklock::core {

/// A checked lock path: absolute, below the chroot, usable as the parent of contenders.
class LockPath {
 public:
  /// Throws Error(Errc::invalid_path) whose text says what is wrong with the path (shown printable).
  /// Refused: empty, relative, "/", "/zookeeper" and below, empty / "." / ".." components, a
  /// trailing slash, control characters and the ranges that ZooKeeper refuses (U+0000..001F,
  /// U+007F..009F, U+D800..F8FF, U+FFF0..FFFF), invalid UTF-8, more than 1024 bytes.
  explicit LockPath(std::string path);

  const std::string& str() const noexcept { return path_; }
  std::string child(std::string_view name) const;

 private:
  std::string path_;
};

/// Of any node: as LockPath, but "/", "/zookeeper" and what is below that will do. The text of the
/// Error begins with `operation`.
void check_path(std::string_view operation, std::string_view path);

}  // namespace zklock::core
