// SPDX-License-Identifier: Apache-2.0
// The acquire machine, answered by servers that say anything: see acquire_asker.h.
#include "tests/fuzz/acquire_asker.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zklock::fuzz::Choices choices(data, size);
  zklock::fuzz::Asker(choices).run();
  return 0;
}
