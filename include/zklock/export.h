// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

// ZKLOCK_EXPORT marks the symbols that zklock exports as a shared library. ZKLOCK_STATIC is defined
// if zklock is a static library. The target zklock::zklock and zklock.pc define it. So a shared
// object that contains the static library does not export zklock's functions.
//
// ZKLOCK_HIDDEN marks a member of an exported class that only the library uses.
#ifdef ZKLOCK_STATIC
#define ZKLOCK_EXPORT
#define ZKLOCK_HIDDEN
#else
#define ZKLOCK_EXPORT [[gnu::visibility("default")]]
#define ZKLOCK_HIDDEN [[gnu::visibility("hidden")]]
#endif
