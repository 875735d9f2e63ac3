// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "zklock/core/cohort_policy.h"
#include "zklock/core/hold_limit.h"
#include "zklock/core/lazy.h"
#include "zklock/core/ownership.h"
#include "zklock/core/queue_rule.h"
#include "zklock/engine/callback/lock_listener.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/label_metrics.h"
#include "zklock/engine/time_limit.h"
#include "zklock/error.h"
#include "zklock/owner.h"

namespace zklock::detail {

class Contender;

/// The result of an acquire: a count of `contender`, or an error. Neither is set if the acquire was
/// cancelled or the deadline has passed, except as PendingAcquire::expire() says.
struct AcquireOutcome {
  std::shared_ptr<Contender> contender = {};
  std::optional<Error> error = {};
};

/// One acquire call. If its owner has a contender already, the call joins that. Then
/// `on_behalf_of`, `rule`, `queue_again`, `lock_delay`, `cohort_policy`, `texts` and `bound`
/// have no effect. If that contender ends while calls still wait, a new contender serves
/// them. It takes `gate`, `event_sink`, `metrics` and `texts` from the oldest of them.
struct AcquireRequest {
  Owner owner;  ///< calls of equal owners nest
  /// The owner that the znode and the Hold name. Unset: `owner`.
  std::optional<Owner> on_behalf_of = {};
  core::QueueRule rule = core::QueueRule::mutex();
  /// The contender first waits in a gate queue with this rule. When it is first there, it moves to
  /// the queue with `rule`.
  core::Lazy<core::QueueRule> gate = {};
  TimeLimit time_limit;
  core::CountKind kind = core::CountKind::hold;
  bool queue_again = true;  ///< enqueue again after losing the znode
  /// Identifies the public object, for PathLock::cancel_all(). Its value is true once the
  /// destruction of that object has begun.
  std::shared_ptr<const std::atomic<bool>> object = {};
  core::HoldLimit limit = {};     ///< of the hold, unless this call nests
  LockEventSink event_sink = {};  ///< receives the contender's events
  std::chrono::milliseconds lock_delay = {};
  core::CohortPolicy cohort_policy = {};  ///< only with the rule of a mutex
  bool blocks = false;                    ///< a blocked thread enforces the deadline
  bool bound = false;                     ///< see Participant::thread_bound
  MetricsTarget metrics = {};             ///< where the call and its hold are counted
  std::shared_ptr<const CallTexts> texts = {};
  /// The calling thread's ReentryCounter::this_thread() if the ReentryCounter counts its nested
  /// lock() calls. Otherwise 0.
  std::uint64_t reentrant_thread = 0;
  /// Called once, with no lock held. REQUIRES: it does not block and runs no user code.
  std::function<void(AcquireOutcome)> done = {};
};

}  // namespace zklock::detail
