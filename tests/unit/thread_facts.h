// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace zklock::testing {

// Returns 'R' if the thread is running, 'S' if it sleeps, and so on. Returns 0 if this process has
// no such thread.
inline char thread_state(pid_t tid) {
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
  std::string stat;
  std::getline(file, stat);  // empty if the thread ends at this moment
  const auto name_end = stat.rfind(')');
  return name_end == std::string::npos ? '\0' : stat.at(name_end + 2);
}

inline std::size_t open_file_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace zklock::testing
