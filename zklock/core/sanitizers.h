// SPDX-License-Identifier: Apache-2.0
#pragma once

// ZKLOCK_ADDRESS_SANITIZER and ZKLOCK_THREAD_SANITIZER are 1 if this source is compiled with that sanitizer, and
// 0 if not. g++ 12 says so by a macro, and clang 14 by __has_feature.
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
