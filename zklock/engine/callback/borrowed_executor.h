// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "zklock/executor.h"
#include "zklock/lease_clock.h"

namespace zklock::detail {

/// The executor that the user gave to one object. It is used only until that object is destroyed:
/// what the executor refers to may be destroyed then. At that moment, a dispatcher's thread may be
/// about to call it.
///
/// Thread-safety: all members, and the result of revocable(), from any thread.
class BorrowedExecutor {
 public:
  explicit BorrowedExecutor(Executor executor);

  /// Returns the executor for a dispatcher; empty if none was given. After revoke() it drops
  /// tasks.
  Executor revocable() const;
  /// Blocks until no call of the executor is running on another thread. After it returns, the
  /// executor is not called any more. It may still run the tasks that it has accepted.
  void revoke() const noexcept { revoke_within(LeaseClock::duration::max()); }
  /// Does what revoke() does, but waits at most for `timeout`. Returns false if calls are still
  /// running.
  bool revoke_within(LeaseClock::duration timeout) const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< null if none was given
};

}  // namespace zklock::detail
