// SPDX-License-Identifier: Apache-2.0
// Suppressions of sanitizer reports for programs that run the ZooKeeper C client.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZKLOCK_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define ZKLOCK_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ZKLOCK_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__)
#define ZKLOCK_THREAD_SANITIZER
#endif

#if defined(ZKLOCK_ADDRESS_SANITIZER)
extern "C" const char* __lsan_default_suppressions();
// The C client leaks requests whose replies arrive while it closes (ZOOKEEPER-3868). The objects
// that zklock allocates for a request are its own, and it frees them.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libzookeeper_mt\n";
}
#endif

#if defined(ZKLOCK_THREAD_SANITIZER)
extern "C" const char* __tsan_default_suppressions();
// The reference count of an exception lies in libstdc++, which is not instrumented. So two threads
// that release one exception look like a race.
extern "C" const char* __tsan_default_suppressions() {
  return "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif
