// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace zklock::testing {

/// While it lives, its thread gets memory from operator new so many times, and then std::bad_alloc.
/// For programs that scarce_memory.cpp is compiled into: it replaces operator new.
///
/// Thread-safety: for the thread that made it; one at a time.
class ScarceMemory {
 public:
  explicit ScarceMemory(std::size_t allocations) noexcept;
  ~ScarceMemory();
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;

  /// Whether more was wanted.
  bool ran_out() const noexcept;
};

/// Calls `step` with memory for no allocation, then for one, and so on, until it has enough; returns
/// how often it had not. `step(memory)` is to make a ScarceMemory of that, and to say whether it ran out.
template <class Step>
std::size_t at_every_allocation(Step step) {
  std::size_t memory = 0;
  while (step(memory)) ++memory;
  return memory;
}

}  // namespace zklock::testing
