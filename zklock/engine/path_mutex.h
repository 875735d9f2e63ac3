// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/core/thread_annotations.h"

namespace zklock::detail {

/// Stands for the mutex of a lock path, which is in its Monitor. "path_mutex is held" means: the
/// calling thread has a Monitor::Lock of the object's path. Clang's thread-safety analysis cannot
/// know which objects belong to one path. So it checks that the mutex of some path is locked.
struct ZKLOCK_CAPABILITY("path mutex") PathMutex {};
inline constexpr PathMutex path_mutex;

}  // namespace zklock::detail
