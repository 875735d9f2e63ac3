// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The build of auto.py includes this header before every source. It selects the active mutant.
///
/// That build has all mutants of a sample. Each mutated function begins with its mutants:
/// `if (zklock_mutants::is_active(7)) { the mutated body }`. The environment names the active one.

#include <atomic>
#include <cstdlib>

#include <sys/mman.h>

namespace zklock_mutants {

inline constexpr int kMost = 1 << 16;

/// Returns the memory in which functions note that they run; null without ZKLOCK_MUTANTS_REACHED.
/// Processes that fork() makes share it.
inline std::atomic<bool>* map_reached() {
  if (std::getenv("ZKLOCK_MUTANTS_REACHED") == nullptr) return nullptr;
  void* const memory =
      ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::atomic<bool>*>(memory);
}

inline int number_of_active() {
  const char* const text = std::getenv("ZKLOCK_MUTANT");
  return text == nullptr ? 0 : std::atoi(text);
}

inline const int active = number_of_active();  ///< 0: none
inline std::atomic<bool>* const reached = map_reached();

/// Returns whether this mutant is active. Notes that its function was reached.
constexpr bool is_active(int mutant) {
  // CMake compiles its checks without -std=c++20, so std::is_constant_evaluated() is missing there.
  if (__builtin_is_constant_evaluated()) return false;
  if (reached != nullptr) reached[mutant].store(true, std::memory_order_relaxed);
  return mutant == active;
}

}  // namespace zklock_mutants
