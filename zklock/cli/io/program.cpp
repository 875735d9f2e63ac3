// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/program.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/text.h"

namespace zklock::cli {

namespace {

/// Returns 0 if the file can be executed, else errno.
int error_of_program(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

[[noreturn]] void refuse(const std::string& name, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    throw Failure(ExitCode::kNotFound, "no such command: " + display_text(name));
  }
  throw Failure(ExitCode::kNotExecutable, "not executable: " + display_text(name) + " (" +
                                              std::generic_category().message(error) + ')');
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (const int error = error_of_program(name); error != 0) refuse(name, error);
    return name;
  }
  const char* const variable = std::getenv("PATH");
  const std::string_view path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  int worst = ENOENT;
  for (std::size_t begin = 0; begin <= path.size() && !name.empty();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string_view folder = path.substr(begin, end - begin);
    std::string candidate = std::string(folder.empty() ? "." : folder) + '/' + name;
    const int error = error_of_program(candidate);
    if (error == 0) return candidate;
    if (error != ENOENT && error != ENOTDIR) worst = error;
    begin = end + 1;
  }
  refuse(name, worst);
}

}  // namespace zklock::cli
