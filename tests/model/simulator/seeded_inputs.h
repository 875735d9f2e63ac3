// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zklock::simulator {

/// Restarts the inputs that the library takes from outside its ports: the numbers of owners, and
/// random bits. They then follow from the seed. REQUIRES: the program is linked with the options of
/// CMakeLists.txt.
void seed_external_inputs(std::uint64_t seed) noexcept;

}  // namespace zklock::simulator
