// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "zklock/client_options.h"
#include "zklock/lease_clock.h"

namespace zklock::recipes {

/// The executor that the user gave to one object, until that object goes: what it stands for may go
/// with it, while a thread of a dispatcher is still on its way there.
///
/// Thread-safety: all members, and what lent() gives, from any thread.
class BorrowedExecutor {
 public:
  explicit BorrowedExecutor(Executor executor);

  /// For a dispatcher. Empty when none was given. Once it was given back, tasks are dropped there.
  Executor lent() const;
  /// Once it returns, the executor is called no more, and no call of it is under way but for that of
  /// the calling thread. What it has taken it may still run.
  void give_back() const noexcept { give_back_for(LeaseClock::duration::max()); }
  /// The same; but waits no longer than that for calls that are under way. False: there still are.
  bool give_back_for(LeaseClock::duration patience) const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< null when none was given
};

}  // namespace zklock::recipes
