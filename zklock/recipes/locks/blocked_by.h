// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "zklock/deadline.h"
#include "zklock/engine/path_lock.h"
#include "zklock/lock_state.h"

namespace zklock::detail {

/// The empty hold of an acquiring call has a reference to the path at which the call was not
/// granted. These functions are its use and its end.

/// Returns the state of the lock at `refused`, with the first holder only; see
/// Hold::blocked_by(). Returns an empty state if `refused` is null.
LockState read_blocked_by(const std::shared_ptr<PathLock>& refused, Deadline deadline);

/// Destroys the reference. In a fork()ed child, leaks the object: its destructor locks a mutex,
/// which a thread that does not exist in the child may hold.
void forget_refusal(std::shared_ptr<PathLock> refused) noexcept;

}  // namespace zklock::detail
