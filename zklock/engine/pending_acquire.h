// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "zklock/client/port/scheduler.h"
#include "zklock/core/cohort_policy.h"
#include "zklock/core/hold_limit.h"
#include "zklock/core/lazy.h"
#include "zklock/core/ownership.h"
#include "zklock/core/queue_rule.h"
#include "zklock/engine/callback/event_delivery.h"
#include "zklock/engine/path_lock.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/label_metrics.h"
#include "zklock/engine/time_limit.h"
#include "zklock/error.h"
#include "zklock/owner.h"

namespace zklock::detail {

/// The result of an acquire: a count of `contender`, or an error. Neither is set if it was
/// cancelled, timed out or a single attempt without success; see PendingAcquire::expire().
struct AcquireOutcome {
  std::shared_ptr<Contender> contender = {};
  std::optional<Error> error = {};
};

/// One acquire call. If its owner has a contender already, the call joins that. Then `rule` only
/// decides whether the call may join, and `on_behalf_of`, `queue_again`, `lock_delay`,
/// `cohort_policy`, `texts` and `bound` have no effect. If that contender ends while calls still
/// wait, a new contender serves them. It takes `gate`, `event_sink`, `metrics` and `texts` from the
/// oldest of them.
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

/// One acquire call of the user: blocking, with a handler, with a future or awaited. It ends
/// exactly once:
///
/// | state   | event                                      | next                               |
/// |---------|--------------------------------------------|------------------------------------|
/// | waiting | complete(): a grant or an error            | ended                              |
/// |         | cancel(), fail(), expire(); stop; deadline | ended; its contender is withdrawn, |
/// |         |                                            | unless another call waits with it  |
///
/// At the end, `done` is called when the engine mutex is released.
///
/// Thread-safety: any thread may call any member. REQUIRES for cancel(), fail() and expire(): the
/// engine mutex is not held. REQUIRES: the destructor runs without the engine mutex, because it
/// waits for a stop callback that is running.
class PendingAcquire : public std::enable_shared_from_this<PendingAcquire> {
 public:
  /// Begins a call; see PathLock::acquire(). Throws the error that acquire() returns. A stop
  /// request ends the call.
  static std::shared_ptr<PendingAcquire> start(const std::shared_ptr<PathLock>& path,
                                               AcquireRequest request, const std::stop_token& stop);
  PendingAcquire(std::shared_ptr<PathLock> path, AcquireRequest& request);
  PendingAcquire(const PendingAcquire&) = delete;
  PendingAcquire& operator=(const PendingAcquire&) = delete;

  /// Ends the call with neither contender nor error. Does nothing if it has ended.
  void cancel() noexcept;
  /// Ends the call with this error. Does nothing if it has ended.
  void fail(const Error& error) noexcept;
  /// Ends the call because its deadline has passed. Does nothing if it has ended. The result is
  /// Error(not_connected) if the client is not connected, and no create of its znodes on this path
  /// was confirmed since the call began. Otherwise it has neither contender nor error.
  void expire() noexcept;
  /// Returns the time at which the blocked thread must call expire(); never() for a single attempt.
  Deadline deadline() const noexcept { return time_limit_.deadline(); }

  /// The settings that are read at the grant (`limit`), or if a later contender serves the call.
  struct Terms {
    core::HoldLimit limit = {};
    LockEventSink event_sink = {};
    core::Lazy<core::QueueRule> gate = {};
    friend bool operator==(const Terms&, const Terms&) = default;
  };
  const Terms& terms() const noexcept { return *terms_; }
  core::Instant began() const noexcept { return began_; }
  core::CountKind kind() const noexcept { return kind_; }
  const std::shared_ptr<const CallTexts>& texts() const noexcept { return texts_; }
  std::uint64_t reentrant_thread() const noexcept { return reentrant_thread_; }
  const void* object() const noexcept { return object_; }
  bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }
  const TimeLimit& time_limit() const noexcept { return time_limit_; }
  /// Returns whether another contender of this client was on the path when the call began. If not,
  /// the DeadlockDetector need not know the call.
  bool had_local_rival() const noexcept { return had_local_rival_.load(); }
  void set_had_local_rival() noexcept { had_local_rival_.store(true); }
  MetricsTarget metrics() const noexcept { return {metrics_, leads_}; }
  /// Counts the call as granted at this time. REQUIRES: complete() was called with a grant.
  void count_grant(core::Instant now) const noexcept {
    if (metrics_ != nullptr) metrics_->add_acquire(AcquireEnd::granted, now - began_);
  }

  /// Sets the timer of the time limit anew. If `contender_waits` is false, the contender is a
  /// single attempt, although the call itself may not be. Then the timer is at the connection
  /// timeout, and ends the call with Error(not_connected). If the call's deadline is earlier, the
  /// timer is there, and acts as expire(). REQUIRES: the engine mutex is held.
  void arm(bool contender_waits);
  /// Cancels the timer. REQUIRES: the engine mutex is held.
  void disarm() noexcept;
  /// Ends the call with this outcome. REQUIRES: the engine mutex is held; the call has not ended,
  /// and its contender forgets it.
  void complete(AcquireOutcome outcome) { end(std::move(outcome), AcquireEnd::timeout); }
  /// Ends the call as refused, without a call of `done`. REQUIRES: the engine mutex is held.
  void refuse() noexcept;

 private:
  struct Cancel {
    std::weak_ptr<PendingAcquire> call;
    void operator()() const noexcept {
      if (const auto alive = call.lock()) alive->cancel();
    }
  };

  void time_out(bool by_deadline) noexcept;
  AcquireOutcome timed_out(bool by_deadline) const;
  // give_up(), end() and finish() count the end of a call without a grant: as `why`, or as
  // AcquireEnd::failed if there is an error.
  /// Ends the call, and withdraws it from its contender. Does nothing if it has ended.
  void give_up(AcquireOutcome outcome, AcquireEnd why) noexcept;
  void end(AcquireOutcome outcome, AcquireEnd why);
  void finish(AcquireOutcome outcome, AcquireEnd why) noexcept;
  void count_end(AcquireEnd end) const noexcept;

  const std::shared_ptr<PathLock> path_;
  const Owner owner_;
  const core::CountKind kind_;
  const core::Instant began_;
  const std::uint64_t nodes_made_before_;  ///< nodes_made() of the path lock at began_
  const bool blocks_;                      ///< a blocked thread calls expire()
  const bool leads_;                       ///< see MetricsTarget
  const std::uint64_t reentrant_thread_;   ///< see AcquireRequest
  const void* const object_;
  LabelMetrics* const metrics_;  ///< null: not counted
  const TimeLimit time_limit_;
  const core::Lazy<Terms> terms_;
  const std::shared_ptr<const CallTexts> texts_;  ///< null: none
  std::function<void(AcquireOutcome)> done_;      ///< used by the ending thread only
  std::atomic<bool> has_ended_{false};            ///< written under the engine mutex, or by start()
  std::atomic<bool> had_local_rival_{false};
  std::optional<std::stop_callback<Cancel>> on_stop_;

  client::TimerId timer_{};
};

}  // namespace zklock::detail
