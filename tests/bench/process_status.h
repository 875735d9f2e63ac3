// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zklock::bench {

/// Returns a value from /proc/self/status. Throws std::runtime_error if there is none.
double status_of_process(const std::string& key);

/// The growth of the process's memory since the construction: of its resident memory or of its heap
/// in use, whichever is larger. Resident memory alone would miss objects in free memory of the
/// heap.
class MemoryGrowth {
 public:
  MemoryGrowth();
  double kilobytes() const;

 private:
  const double resident_;
  const double heap_;
};

}  // namespace zklock::bench
