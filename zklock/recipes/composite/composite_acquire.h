// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "zklock/core/composite_fsm.h"
#include "zklock/core/hold_limit.h"
#include "zklock/deadline.h"
#include "zklock/engine/pending_acquire.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/engine/time_limit.h"
#include "zklock/error.h"
#include "zklock/owner.h"
#include "zklock/recipes/composite/composite.h"
#include "zklock/recipes/composite/composite_hold_record.h"

namespace zklock::detail {

/// How a call that acquires several locks ended: with a grant, with an error, or with neither. It
/// ends with neither if the deadline passed, if a stop was requested, or if a single attempt found
/// the locks held.
struct CompositeOutcome {
  bool granted = false;
  /// The holds of a grant to acquire(); null after a lock().
  std::shared_ptr<CompositeHoldRecord> held = {};
  std::optional<Error> error = {};
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
/// A call has no thread of its own. Each event is appended to a queue. If no thread is processing
/// the queue, the thread that appended the event processes it until it is empty. The Outbox is not
/// sufficient, because it orders the effects of one thread only. Here a release on one thread must
/// not overtake a request on another. The mutex of the composite guards the queue.
///
/// Thread-safety: all members, from any thread.
class CompositeAcquire : public std::enable_shared_from_this<CompositeAcquire> {
 public:
  /// Begins a call.
  static std::shared_ptr<CompositeAcquire> start(std::shared_ptr<Composite> composite,
                                                 CompositeRequest request) noexcept;
  /// Ends the call soon, without a grant and without an error, unless it has ended.
  void cancel() noexcept;
  /// Returns no deadline: the requests to the parts have it. See PendingAcquire::deadline().
  static Deadline deadline() noexcept { return Deadline::never(); }
  static void expire() noexcept {}

 private:
  CompositeAcquire(std::shared_ptr<Composite> composite, CompositeRequest request);

  using OnStop = std::stop_callback<std::function<void()>>;
  /// A part that is held, or that was lost and is not released yet.
  struct Taken {
    std::shared_ptr<Contender> contender;
    std::unique_ptr<OnStop> on_loss;
  };

  using Event = std::function<void()>;

  void post(Event event);
  /// Returns a function that posts the event while this object exists, except in a fork()ed child.
  Event poster(Event event);
  Event take_event();

  // REQUIRES of all functions from here to failure(): called by the thread that processes the queue
  // of events.

  void stop();
  void check_losses();
  void carry_out(const core::CompositeEffects& effects);
  void carry_out(const core::CompositeEffect& effect);
  void request_part(std::size_t part, bool is_single_attempt);
  /// Returns why a part that is dispensable is not requested now; null if it is requested.
  const char* reason_to_skip(std::size_t part) const;
  void on_answered(std::size_t part, const AcquireOutcome& outcome);
  void on_failed(std::size_t part, const Error& error, core::PartAnswer how);
  void post_failure(std::size_t part, const Error& error, core::PartAnswer how);
  /// Finds out whether the ensemble of the requested part can be reached.
  void check_reachability();
  /// Returns whether the requested part is beyond those needed.
  bool is_spare() const noexcept;
  void schedule_check();
  void cancel_check();
  core::Duration part_timeout_with(core::Instant now, std::size_t parts_left) const;
  bool late() const;
  void drop(std::size_t part);
  /// Starts the maximum hold time of a taken part, unless the owner already held the part.
  void start_hold_limit_of(std::size_t part);
  void grant();
  /// Makes a Hold of the count of each of these parts, and removes it from taken_.
  std::vector<CompositeHoldRecord::Part> take_holds(const std::vector<std::size_t>& indices);
  void finish(CompositeOutcome outcome);
  std::size_t count_taken() const noexcept;
  Error lost_error(std::size_t part) const;
  Error failure() const;

  const std::shared_ptr<Composite> composite_;
  CompositeRequest request_;
  const std::stop_token closing_;  ///< the composite is being destroyed
  std::optional<OnStop> on_stop_;
  std::optional<OnStop> on_close_;

  // used only by the thread that processes the queue of events
  core::CompositeFsm fsm_;
  std::vector<std::optional<Taken>> taken_;
  std::vector<std::optional<Error>> errors_;
  std::shared_ptr<PendingAcquire> in_flight_;  ///< the call for the requested part
  Epoch attempt_;                              ///< the request for that part
  core::Instant last_contact_{};               ///< when the awaited part was last reachable
  core::Duration part_timeout_{};              ///< how long the awaited part may be unreachable
  client::TimerId check_timer_{};              ///< timer for check_reachability()

  std::deque<Event> events_ ZKLOCK_GUARDED_BY(composite_->mutex_);
  bool processing_ ZKLOCK_GUARDED_BY(composite_->mutex_) = false;
};

}  // namespace zklock::detail
