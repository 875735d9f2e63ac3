// SPDX-License-Identifier: Apache-2.0
#include "support/scarce_memory.h"

#include <cstdlib>
#include <limits>
#include <new>

namespace zklock::testing {
namespace {

constexpr std::size_t kPlenty = std::numeric_limits<std::size_t>::max();
constinit thread_local std::size_t allocations_left = kPlenty;
constinit thread_local bool out_of_memory = false;

void* allocate(std::size_t size) noexcept {
  if (allocations_left == 0) {
    out_of_memory = true;
    return nullptr;
  }
  if (allocations_left != kPlenty) --allocations_left;
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate_or_throw(std::size_t size) {
  void* const memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

ScarceMemory::ScarceMemory(std::size_t allocations) noexcept {
  out_of_memory = false;
  allocations_left = allocations;
}

ScarceMemory::~ScarceMemory() {
  allocations_left = kPlenty;
}

bool ScarceMemory::ran_out() const noexcept {
  return out_of_memory;
}

}  // namespace zklock::testing

using zklock::testing::allocate;
using zklock::testing::allocate_or_throw;

// Replaces all operators: a sanitizer's own delete does not know memory from these.
void* operator new(std::size_t size) {
  return allocate_or_throw(size);
}
void* operator new[](std::size_t size) {
  return allocate_or_throw(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
