// SPDX-License-Identifier: Apache-2.0
// The linker replaces library functions with these (--wrap).
#include "tests/model/simulator/seeded_inputs.h"

#include <bit>
#include <random>

#include "tests/model/simulator/rng.h"
#include "zklock/owner.h"

namespace zklock::simulator {

namespace {

constinit thread_local std::uint64_t last_owner = 0;
constinit thread_local std::uint64_t bits = 0;

/// The contents of an Owner.
struct OwnerNumbers {
  std::uint64_t process;
  std::uint64_t serial;
};

}  // namespace

void seed_external_inputs(std::uint64_t seed) noexcept {
  last_owner = 0;
  bits = seed;
}

// Replaces Owner::unique().
Owner unique_owner() noexcept asm("__wrap__ZN6zklock5Owner6uniqueEv");
Owner unique_owner() noexcept {
  return std::bit_cast<Owner>(OwnerNumbers{1, ++last_owner});
}

// Replaces std::random_device::_M_getval().
unsigned random_bits(std::random_device*) asm("__wrap__ZNSt13random_device9_M_getvalEv");
unsigned random_bits(std::random_device* /*self*/) {
  Rng rng(bits++);
  return static_cast<unsigned>(rng.next());
}

}  // namespace zklock::simulator
