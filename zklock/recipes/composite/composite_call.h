// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "zklock/core/composite_fsm.h"
#include "zklock/core/hold_limit.h"
#include "zklock/deadline.h"
#include "zklock/engine/time_limit.h"
#include "zklock/owner.h"
#include "zklock/recipes/composite/composite.h"
#include "zklock/recipes/composite/composite_grant.h"

namespace zklock::detail {

/// How a call that acquires several locks ended: with a grant, with an error, or with neither. It
/// ends with neither if the deadline passed, if a stop was requested, or if a single attempt found
/// the locks held.
struct CompositeOutcome {
  bool granted = false;
  /// The holds of a grant to acquire(); null after a lock().
  std::shared_ptr<CompositeGrant> held = {};
  std::exception_ptr error = {};
  /// The part that the call requested last; null after a grant.
  std::shared_ptr<PathLock> refused = {};
};

/// The request of one call.
struct CompositeRequest {
  Owner owner;
  TimeLimit time_limit;
  core::CountKind kind = core::CountKind::hold;
  core::HoldLimit limit = {};  ///< counted from the grant of the whole
  bool bound = false;          ///< see Participant::thread_bound
  std::shared_ptr<const CallTexts> texts = {};
  std::stop_token stop = {};
  /// Called once, with no lock held, on a thread that must not be blocked. REQUIRES: it runs no
  /// user code.
  std::function<void(CompositeOutcome)> done = {};
};

/// One blocking or asynchronous call that acquires the parts of a composite. It drives
/// core::CompositeFsm.
///
/// A call has no thread of its own. Each event is appended to a queue. The thread in start() is the
/// first to process the queue. Later, if no thread is processing it, the thread that appended the
/// event processes it until it is empty. The Outbox is not sufficient, because it orders the
/// effects of one thread only. Here a release on one thread must not overtake a request on another.
/// The mutex of the composite guards the queue.
///
/// Thread-safety: all members, from any thread.
class CompositeCall : public std::enable_shared_from_this<CompositeCall> {
 public:
  /// Begins a call. Throws std::bad_alloc; then the call has not begun: `done` is not called.
  static std::shared_ptr<CompositeCall> start(std::shared_ptr<Composite> composite,
                                              CompositeRequest request);
  /// Ends the call soon, without a grant and without an error, unless it has ended.
  void cancel() noexcept;
  /// Returns no deadline: the requests to the parts have it. See PendingAcquire::deadline().
  static Deadline deadline() noexcept { return Deadline::never(); }
  static void expire() noexcept {}
  /// Ends the call soon, with Error(closed), unless it has ended: the public object is being
  /// destroyed.
  void close();

 private:
  CompositeCall(std::shared_ptr<Composite> composite, CompositeRequest request);

  struct Cancel {
    std::weak_ptr<CompositeCall> call;
    void operator()() const {
      if (const auto alive = call.lock()) alive->cancel();
    }
  };
  struct LossCheck {
    std::weak_ptr<CompositeCall> call;
    void operator()() const;
  };
  /// A part that is held, or that was lost and is not released yet.
  struct Taken {
    AcquireOutcome outcome;
    std::unique_ptr<std::stop_callback<LossCheck>> on_loss;
  };

  using Event = std::function<void(CompositeCall&)>;

  void post(Event event);
  bool take_event(Event& event) noexcept;

  // REQUIRES of all functions from here to failure(): called by the thread that processes the queue
  // of events.

  /// The part of start() after which the call has begun: without memory, the process terminates.
  void begin() noexcept;
  void process_events();
  void check_losses();
  void carry_out(const core::CompositeEffects& effects);
  void carry_out(const core::CompositeEffect& effect);
  void request_part(std::size_t part, bool is_single_attempt);
  void on_answered(std::size_t part, AcquireOutcome outcome);
  void on_failed(std::size_t part, std::exception_ptr error, core::PartAnswer how);
  void check_reachability(std::uint64_t request);
  void schedule_check(std::uint64_t request);
  void cancel_check();
  core::Duration part_timeout_with(core::Instant now, std::size_t parts_left) const;
  bool late() const;
  void drop(std::size_t part);
  /// Starts the maximum hold time of a taken part, unless the owner already held the part.
  void start_hold_limit_of(std::size_t part);
  void grant();
  /// Makes a Hold of the count of each of these parts, and removes it from taken_.
  std::vector<CompositeGrant::Part> take_holds(const std::vector<std::size_t>& indices);
  void finish(CompositeOutcome outcome);
  std::exception_ptr lost_error(std::size_t part) const;
  std::exception_ptr failure() const;

  const std::shared_ptr<Composite> composite_;
  const Composite::CallId id_ = composite_->next_call();
  CompositeRequest request_;
  std::optional<std::stop_callback<Cancel>> on_stop_;

  // used only by the thread that processes the queue of events
  core::CompositeFsm fsm_;
  std::vector<std::optional<Taken>> taken_;
  std::vector<std::exception_ptr> errors_;
  std::shared_ptr<PendingAcquire> in_flight_;  ///< the call for the requested part
  bool spare_ = false;                         ///< the request is beyond those needed
  std::uint64_t request_count_ = 0;            ///< requests so far, to recognise stale timers
  core::Instant last_contact_{};               ///< when the awaited part was last reachable
  core::Duration part_timeout_{};              ///< how long the awaited part may be unreachable
  client::TimerId check_timer_{};              ///< timer for check_reachability()
  bool closed_ = false;

  std::deque<Event> events_ ZKLOCK_GUARDED_BY(composite_->mutex_);
  /// True from the beginning: start() processes the first event.
  bool processing_ ZKLOCK_GUARDED_BY(composite_->mutex_) = true;
};

}  // namespace zklock::detail
