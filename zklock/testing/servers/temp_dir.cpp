// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/temp_dir.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include <unistd.h>

namespace zklock::testing {

TempDir::TempDir() : owner_(::getpid()) {
  std::string name = (std::filesystem::temp_directory_path() / "zklock-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "mkdtemp " + name);
  }
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (::getpid() == owner_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace zklock::testing
