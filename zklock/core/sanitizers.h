// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which sanitizer compiles this source: ZKLOCK_ADDRESS_SANITIZER and ZKLOCK_THREAD_SANITIZER are 0 or 1.
// g++ 12 has a macro for each, and clang 14 has features.
#if defined(__SANITIZE_ADDRESS__)
#define ZKLOCK_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZKLOCK_ADDRESS_SANITIZER 1
#endif
#endif
#if !defined(ZKLOCK_ADDRESS_SANITIZER)
#define ZKLOCK_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__)
#define ZKLOCK_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ZKLOCK_THREAD_SANITIZER 1
#endif
#endif
#if !defined(ZKLOCK_THREAD_SANITIZER)
#define ZKLOCK_THREAD_SANITIZER 0
#endif
