// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace zklock::testing {

/// During its lifetime, operator new succeeds `allocations` times on this thread, and then throws
/// std::bad_alloc. REQUIRES: scarce_memory.cpp, which replaces operator new, is compiled into the
/// program.
///
/// Thread-safety: for the thread that created it; one object at a time.
class ScarceMemory {
 public:
  explicit ScarceMemory(std::size_t allocations) noexcept;
  ~ScarceMemory();
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;

  /// Returns whether an allocation has failed.
  bool ran_out() const noexcept;
};

/// Calls `step(memory)` with memory for 0 allocations, then 1, and so on, until that is enough.
/// `step` creates a ScarceMemory(memory) and returns whether it ran out. Returns how often it ran
/// out.
template <class Step>
std::size_t at_every_allocation(Step step) {
  std::size_t memory = 0;
  while (step(memory)) ++memory;
  return memory;
}

}  // namespace zklock::testing
