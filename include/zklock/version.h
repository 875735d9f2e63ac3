// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every public header includes this one before it needs C++20.
#if __cplusplus < 202002L
#error "zklock needs C++20 or newer: compile with -std=c++20, or CMake's cxx_std_20"
#endif

/// The version of these headers. Configuring zklock fails if it differs from the version in
/// CMakeLists.txt.
#define ZKLOCK_VERSION_MAJOR 0
#define ZKLOCK_VERSION_MINOR 2
#define ZKLOCK_VERSION_PATCH 0
#define ZKLOCK_VERSION_STRING "0.2.0"
/// One number that rises with the version: `#if ZKLOCK_VERSION >= 10203` means 1.2.3 or newer.
#define ZKLOCK_VERSION \
  (ZKLOCK_VERSION_MAJOR * 10000 + ZKLOCK_VERSION_MINOR * 100 + ZKLOCK_VERSION_PATCH)
