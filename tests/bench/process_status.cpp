// SPDX-License-Identifier: Apache-2.0
#include "bench/process_status.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include <malloc.h>

namespace zklock::bench {

namespace {

double heap_in_use() {
  const auto heap = ::mallinfo2();
  return static_cast<double>(heap.uordblks + heap.hblkhd) / 1024;
}

/// Returns the resident memory without free pages of the heap.
double trimmed_memory() {
  ::malloc_trim(0);
  return status_of_process("VmRSS");
}

}  // namespace

double status_of_process(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stod(line.substr(key.size() + 1));
  }
  throw std::runtime_error("/proc/self/status has no " + key);
}

MemoryGrowth::MemoryGrowth() : resident_(trimmed_memory()), heap_(heap_in_use()) {}

double MemoryGrowth::kilobytes() const {
  return std::max(status_of_process("VmRSS") - resident_, heap_in_use() - heap_);
}

}  // namespace zklock::bench
