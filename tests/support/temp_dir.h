// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace zklock::testing {

// A new directory under the system's temporary directory, removed with all it holds at the end.
class TempDir {
 public:
  TempDir();  // throws std::system_error
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  int owner_;  // the process that made it; a forked copy must not remove it
  std::filesystem::path path_;
};

}  // namespace zklock::testing
