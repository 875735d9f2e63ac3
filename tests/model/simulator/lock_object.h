// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <variant>

#include "tests/model/simulator/plan.h"
#include "tests/model/simulator/process.h"
#include "zklock/acquire_options.h"
#include "zklock/composite_hold.h"
#include "zklock/hold.h"
#include "zklock/lock_event.h"
#include "zklock/lock_observer.h"
#include "zklock/multi_mutex.h"
#include "zklock/mutex.h"
#include "zklock/priority_mutex.h"
#include "zklock/quorum_mutex.h"
#include "zklock/reentrant_mutex.h"
#include "zklock/semaphore.h"
#include "zklock/shared_mutex.h"

namespace zklock::simulator {

/// The result of a call: a hold, a composite hold, an error, or nothing.
struct Got {
  Hold hold = {};
  CompositeHold composite = {};
  std::exception_ptr error = {};
};

/// An object of one of the lock classes, in one process.
///
/// Thread-safety: none.
class LockObject {
 public:
  LockObject(SimProcess& process, const ObjectPlan& plan, const LockListener& listener);

  /// Calls the object's async_acquire() with the arguments of the step.
  void acquire(const PlanStep& step, AcquireOptions options, std::function<void(Got)> handler);

 private:
  using Made = std::variant<std::unique_ptr<ReentrantMutex>, std::unique_ptr<Mutex>,
                            std::unique_ptr<SharedMutex>, std::unique_ptr<Semaphore>,
                            std::unique_ptr<MultiMutex>, std::unique_ptr<QuorumMutex>,
                            std::unique_ptr<PriorityMutex>>;
  static Made make(SimProcess& process, const ObjectPlan& plan, const LockListener& listener);

  Made made_;
};

}  // namespace zklock::simulator
