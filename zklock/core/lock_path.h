// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace zklock::core {

/// A checked lock path: absolute, below the chroot, usable as the parent of contenders.
class LockPath {
 public:
  /// Throws: Error(Errc::invalid_path). Its text names the fault and shows the path printable.
  ///
  /// Refused are the empty path, relative paths, "/", "/zookeeper" and paths below that. Components
  /// may not be empty, "." or "..". The path may not end with a slash or exceed 1024 bytes. Control
  /// characters and invalid UTF-8 are refused, and the characters that ZooKeeper refuses:
  /// U+0000..001F, U+007F..009F, U+D800..F8FF, U+FFF0..FFFF and those above U+FFFF.
  explicit LockPath(std::string path);

  const std::string& str() const noexcept { return path_; }
  std::string child(std::string_view name) const;

 private:
  std::string path_;
};

/// Checks the path of any znode. Throws as LockPath does, but accepts "/", "/zookeeper" and paths
/// below that. The text of the Error begins with `operation`.
void check_path(std::string_view operation, std::string_view path);

}  // namespace zklock::core
