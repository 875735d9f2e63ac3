// SPDX-License-Identifier: Apache-2.0
// Suppressions of sanitizer reports for programs that run the ZooKeeper C client.
#include "zklock/core/sanitizers.h"

#if ZKLOCK_ADDRESS_SANITIZER
extern "C" const char* __lsan_default_suppressions();
// The C client leaks requests whose replies arrive while it closes (ZOOKEEPER-3868). The objects
// that zklock allocates for a request are its own, and it frees them.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libzookeeper_mt\n";
}
#endif

#if ZKLOCK_THREAD_SANITIZER
extern "C" const char* __tsan_default_suppressions();
// The reference count of an exception lies in libstdc++, which is not instrumented. So two threads
// that release one exception look like a race.
extern "C" const char* __tsan_default_suppressions() {
  return "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif
