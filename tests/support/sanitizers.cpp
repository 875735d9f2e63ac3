// SPDX-License-Identifier: Apache-2.0
// What the sanitizers are not to report in a program that runs the ZooKeeper C client.
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
// The C client loses requests whose answers arrive while it closes (ZOOKEEPER-3868), and their
// memory with them. What zklock keeps of a request is its own, and it frees that.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libzookeeper_mt\n";
}
#endif

#if defined(ZKLOCK_THREAD_SANITIZER)
extern "C" const char* __tsan_default_suppressions();
// The count of references to an exception is kept within libstdc++, which is not instrumented: two
// threads that let go of one exception look like a race.
extern "C" const char* __tsan_default_suppressions() {
  return "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif
