// SPDX-License-Identifier: Apache-2.0
#include "bench/process_status.h"

#include <fstream>
#include <stdexcept>

namespace zklock::bench {

double status_of_process(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stod(line.substr(key.size() + 1));
  }
  throw std::runtime_error("/proc/self/status has no " + key);
}

}  // namespace zklock::bench
