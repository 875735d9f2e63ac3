// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/threads/backoff.h"

#include <cstdint>
#include <random>

#include "zklock/client/port/test_seam.h"

namespace zklock::client {

namespace {

std::uint32_t seed() {
  TestSeam* const seam = test_seam();
  return seam != nullptr ? seam->next_seed() : std::random_device{}();
}

}  // namespace

std::function<double()> Backoff::random_numbers() {
  return [engine = std::minstd_rand(seed())]() mutable {
    return std::uniform_real_distribution<>(0, 1)(engine);
  };
}

}  // namespace zklock::client
