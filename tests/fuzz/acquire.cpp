// SPDX-License-Identifier: Apache-2.0
// Fuzzes the acquire machine with arbitrary answers of the servers: see acquire_driver.h.
#include "tests/fuzz/acquire_driver.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zklock::fuzz::Choices choices(data, size);
  zklock::fuzz::AcquireDriver(choices).run();
  return 0;
}
