// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/locks/blocked_by.h"

#include <utility>

#include "zklock/engine/queue_reader.h"
#include "zklock/engine/session/fork_guard.h"
#include "zklock/engine/time_limit.h"
#include "zklock/error.h"

namespace zklock::detail {

LockState read_blocked_by(const std::shared_ptr<PathLock>& refused, Deadline deadline) {
  if (!refused) return {};
  const TimeLimit limit(deadline, refused->core().scheduler().now());
  if (!limit.waits()) return {};  // as a query, it would have the connection timeout
  try {
    return lock_state_of(read_view(refused, ViewKind::first_holder, limit));
  } catch (const Error&) {
    return {};
  }
}

void forget_refusal(std::shared_ptr<PathLock> refused) noexcept {
  if (refused && refused->core().forked()) keep_for_ever(std::move(refused));
}

}  // namespace zklock::detail
