// SPDX-License-Identifier: Apache-2.0
#pragma once

// ZKLOCK_ADDRESS_SANITIZER and ZKLOCK_THREAD_SANITIZER are 1 if this source is compiled with that
// sanitizer, and 0 if not. g++ 12 says so by a macro, and clang 14 by __has_feature.
#if defined(__has_feature)
#define ZKLOCK_HAS_FEATURE(name) __has_feature(name)
#else
#define ZKLOCK_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || ZKLOCK_HAS_FEATURE(address_sanitizer)
#define ZKLOCK_ADDRESS_SANITIZER 1
#else
#define ZKLOCK_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || ZKLOCK_HAS_FEATURE(thread_sanitizer)
#define ZKLOCK_THREAD_SANITIZER 1
#else
#define ZKLOCK_THREAD_SANITIZER 0
#endif

#undef ZKLOCK_HAS_FEATURE
