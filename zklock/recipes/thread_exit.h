// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "zklock/owner.h"

namespace zklock::recipes {

/// Wants to know when threads end.
class ThreadExitListener {
 public:
  virtual ~ThreadExitListener() = default;
  /// On the thread that ends, after its thread_local objects were destroyed. `owner` is what
  /// Owner::this_thread() was, and still is, on that thread.
  virtual void thread_exits(Owner owner) noexcept = 0;
};

/// Calls `listener` once, when the calling thread ends, if it is still alive then. Registering it
/// again is cheap and changes nothing. It may be called at any time, also from the destructor of a
/// thread_local object, and from thread_exits() (then there is another call).
///
/// Not called: on the main thread when the process exits (the sessions close then anyway), and in a
/// fork()ed child for what was registered in the parent.
///
/// Throws: std::bad_alloc, std::system_error (no thread-specific key is left).
/// Thread-safety: any thread.
void call_at_thread_exit(const std::weak_ptr<ThreadExitListener>& listener);

}  // namespace zklock::recipes
