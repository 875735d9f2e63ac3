// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zklock::simulator {

/// What the library takes from outside of its ports, the numbers of owners and random bits, begins
/// anew and follows from the seed: in a program that is linked with the options of CMakeLists.txt.
void begin_the_same_again(std::uint64_t seed) noexcept;

}  // namespace zklock::simulator
