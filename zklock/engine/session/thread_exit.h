// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "zklock/owner.h"

namespace zklock::detail {

/// Is notified when a thread that called call_at_thread_exit() ends.
class ThreadExitListener {
 public:
  virtual ~ThreadExitListener() = default;
  /// Called on the thread that ends, after its thread_local objects were destroyed. `owner` is the
  /// owner that Owner::this_thread() returns on that thread, even now.
  virtual void thread_exits(Owner owner) noexcept = 0;
};

/// Registers `listener`: it is called once when the calling thread ends, if it still exists then.
/// Registering it again is cheap and has no effect. This function may be called at any time, even
/// from the destructor of a thread_local object. If it is called from thread_exits(), the listener
/// is called once more.
///
/// The listener is not called on the main thread when the process exits; the sessions close then
/// anyway. It is not called in a fork()ed child of the process that registered it.
///
/// Throws: std::bad_alloc, std::system_error (no thread-specific key is left).
/// Thread-safety: any thread may call it.
void call_at_thread_exit(const std::weak_ptr<ThreadExitListener>& listener);

}  // namespace zklock::detail
