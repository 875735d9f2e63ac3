// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>

#include "zklock/core/session.h"

namespace zklock::detail {

/// Locks the mutex. Blocks for `longest` at most if it is not free. Returns false if it was not
/// locked.
inline bool lock_within(std::unique_lock<std::timed_mutex>& lock, core::Duration longest) {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer of g++ 12 sees no lock by the steady clock (pthread_mutex_clocklock).
  return lock.try_lock() || lock.try_lock_until(std::chrono::system_clock::now() + longest);
#else
  return lock.try_lock() || lock.try_lock_for(longest);
#endif
}

}  // namespace zklock::detail
