// SPDX-License-Identifier: Apache-2.0
// The linker replaces library functions with these (--wrap).
#include "tests/model/simulator/seeded_inputs.h"

#include <random>

#include "tests/model/simulator/rng.h"
#include "zklock/owner.h"

namespace zklock::simulator {

namespace {

constinit thread_local std::uint64_t last_owner = 0;
constinit thread_local std::uint64_t bits = 0;

using OwnerNumber = std::uint64_t Owner::*;

void set_numbers(Owner& owner, std::uint64_t process, std::uint64_t serial) noexcept;

/// Defines set_numbers(). The explicit instantiation may name private members.
template <OwnerNumber process_number, OwnerNumber serial_number>
struct OwnerAccess {
  friend void set_numbers(Owner& owner, std::uint64_t process, std::uint64_t serial) noexcept {
    owner.*process_number = process;
    owner.*serial_number = serial;
  }
};
template struct OwnerAccess<&Owner::process_, &Owner::serial_>;

}  // namespace

void seed_external_inputs(std::uint64_t seed) noexcept {
  last_owner = 0;
  bits = seed;
}

// Replaces Owner::unique().
Owner unique_owner() noexcept asm("__wrap__ZN6zklock5Owner6uniqueEv");
Owner unique_owner() noexcept {
  Owner owner = Owner::this_thread();
  set_numbers(owner, 1, ++last_owner);
  return owner;
}

// Replaces std::random_device::_M_getval().
unsigned random_bits(std::random_device*) asm("__wrap__ZNSt13random_device9_M_getvalEv");
unsigned random_bits(std::random_device* /*self*/) {
  Rng rng(bits++);
  return static_cast<unsigned>(rng.next());
}

}  // namespace zklock::simulator
