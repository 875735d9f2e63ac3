// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/io/shared_time.h"

#include <new>

#include <sys/mman.h>

#include "zklock/cli/io/system_failure.h"

namespace zklock::cli {

SharedTime::SharedTime() {
  void* const memory =
      ::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw system_failure("mmap");
  count_ = ::new (memory) Count(0);
}

SharedTime::~SharedTime() {
  ::munmap(count_, sizeof(Count));
}

}  // namespace zklock::cli
