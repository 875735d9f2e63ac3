// SPDX-License-Identifier: Apache-2.0
// What LeakSanitizer is not to report in this program.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZKLOCK_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ZKLOCK_ADDRESS_SANITIZER
#endif

#if defined(ZKLOCK_ADDRESS_SANITIZER)
extern "C" const char* __lsan_default_suppressions();
// The C client loses requests whose answers arrive while it closes (ZOOKEEPER-3868), and their
// memory with them. What zklock keeps of a request is its own, and it frees that.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libzookeeper_mt\n";
}
#endif
