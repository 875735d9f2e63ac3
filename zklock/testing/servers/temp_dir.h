// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace zklock::testing {

// A new directory under the system's temporary directory. The destructor removes it with its
// content.
class TempDir {
 public:
  TempDir();  // throws std::system_error
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  int owner_;  // pid of the creator; a forked copy must not remove it
  std::filesystem::path path_;
};

}  // namespace zklock::testing
