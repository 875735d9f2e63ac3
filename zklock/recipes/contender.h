// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zklock/core/acquire_fsm.h"
#include "zklock/core/few.h"
#include "zklock/core/ownership.h"
#include "zklock/core/seldom.h"
#include "zklock/hold.h"
#include "zklock/recipes/acquire_call.h"
#include "zklock/recipes/hold_tenure.h"
#include "zklock/recipes/local_queue.h"
#include "zklock/recipes/lock_engine.h"
#include "zklock/recipes/lock_events.h"
#include "zklock/recipes/place.h"

namespace zklock::recipes {

/// One owner at one lock path, from its first wish to its last unlock: it stands in a place of the
/// queue, with the calls that wait for it, and afterwards keeps the counts and the fate of the hold.
///
/// | standing  | in the engine's map | in its place          | ends with                          |
/// |-----------|---------------------|-----------------------|------------------------------------|
/// | waiting   | yes                 | yes; or behind who    | grant; error; last waiting call    |
/// |           |                     | stands there          | cancelled                          |
/// | held      | yes                 | yes                   | last count dropped; loss           |
/// | lost      | yes                 | yes; the node goes    | last count dropped                 |
/// | over      | no                  | no; or the node goes  |                                    |
///
/// Who shares a place with others of its client stands in it, or behind, by its local queue.
///
/// Thread-safety: the members of a Hold from any thread; the others within a Section of the engine.
class Contender : public std::enable_shared_from_this<Contender> {
 public:
  /// `key`: its key in the engine's map. `requester`: named by its node and Hold. `local`: the queue in
  /// which it shares a place; null when it has one of its own.
  Contender(std::shared_ptr<LockEngine> engine, Owner key, const Requester& requester,
            core::AcquireFsm::Policy policy, LockAudience audience,
            std::shared_ptr<LocalQueue> local);
  ~Contender();

  void start(const Requester& requester);
  /// A call waits with this contender, or nests if it holds.
  void join(const std::shared_ptr<AcquireCall>& call);
  /// Forgets the calls that were abandoned; withdraws if no other waits.
  void sweep();
  void leave_all(const void* on_behalf);
  /// Ends all waiting calls with this error.
  void fail(Errc error, const std::string& cause);
  /// Forgets the waiting calls, without a word: the caller hears of the failure by an exception.
  void drop_calls() noexcept;
  core::Ownership::Dropped drop(core::CountKind kind, Place::Manner manner);
  /// The client is closing: waiting calls end, a hold is lost.
  void close();
  const core::Ownership& ownership() const noexcept { return ownership_; }
  bool holds_validly();
  /// In which it stands, or behind.
  const Place& place() const noexcept { return *place_; }
  /// How many of this client share its place, and stand before it.
  std::size_t before_it() const { return local_ ? local_->before(*this) : 0; }
  const Owner& key() const noexcept { return key_; }

  /// What a Hold asks; any thread, no Section.
  Hold make_hold(core::CountKind kind) { return Hold(shared_from_this(), kind); }
  /// Once it was granted.
  const HoldTenure& tenure() const noexcept { return *tenure_; }
  const Owner& owner() const noexcept { return owner_; }
  std::int32_t permits() const noexcept { return place_->policy().rule.wanted; }
  /// For those whose loss follows from this one's, and who tell it to others: while they keep this,
  /// a node that is still there is not handed over, within the patience that callbacks have.
  /// Null when there is no such loss.
  static std::shared_ptr<void> being_told(const Hold& hold);
  /// From now on, and not from the next tick, it hears at once if its node is deleted.
  void watch_node();
  bool renew(std::optional<core::Duration> length);
  /// The node there goes with its own. False: it does not hold any more.
  bool take_along(std::string path);
  void release(core::CountKind kind) noexcept;
  /// The node of what was held goes.
  void let_go(Place::Manner manner);

  /// For its parts.
  template <class Step>
  auto entering(Step step) {
    return recipes::entering(weak_from_this(), std::move(step));
  }
  ClientCore& core() const noexcept { return engine_->core(); }
  LockEngine& engine() const noexcept { return *engine_; }
  /// Within a Section: so that all events stand in line in the order in which they happened.
  void tell_event(LockEvent::Kind kind, FencingToken token,
                  std::size_t position = 0) const noexcept;
  void look_at_the_clock();
  /// What is older than the engine's oldest node is gone.
  void path_began_again() { place_->path_began_again(); }

  /// What its local queue tells it.
  void stands_in(std::shared_ptr<Place> place);
  void waits_for(std::shared_ptr<Place> place) { place_ = std::move(place); }
  void refused(Errc error, const std::string& cause);
  /// Else it is a single attempt.
  bool waits() const noexcept { return waits_; }
  bool is_heard() const noexcept { return static_cast<bool>(*audience_); }

  /// What its place tells it.
  void granted();
  void failed(Errc error, const std::string& cause);
  /// The place has come to its end without a grant.
  void attempt_ended();
  /// No server was reached within ClientOptions::connection_timeout. Ends the waiting calls that
  /// have no deadline of their own with Error(not_connected).
  void connection_timed_out(const std::string& cause);
  void waits_at(std::size_t position);
  void suspended();
  void resumed();
  enum class Loss {
    lease,   ///< may soon have the node deleted by the servers
    node,    ///< gone already
    limit,   ///< the maximum hold time
    forced,  ///< by request_release()
  };
  void lose(Loss why);
  void asked_to_release();
  void forced_to_release();

 private:
  using Calls = core::Few<std::shared_ptr<AcquireCall>>;

  /// Why a call cannot nest here; nothing when it can.
  std::optional<Error> refusal(core::CountKind kind) const;
  const core::AcquireFsm::Policy& policy() const noexcept;
  core::QueueRule rule_for(const Calls& waiting) const;
  void give_up();
  void depart();
  void decline(core::CountKind kind);
  void tell_loss(Loss why);
  /// Hands over when it goes, once it was sent: when all have been told.
  struct HandOver {
    explicit HandOver(std::shared_ptr<Contender> whose) : contender(std::move(whose)) {}
    HandOver(const HandOver&) = delete;
    HandOver& operator=(const HandOver&) = delete;
    ~HandOver();

    const std::shared_ptr<Contender> contender;
    bool sent = false;  ///< else it goes for want of memory, and only the timer hands over
  };
  /// From a loss on that the library itself brought about.
  struct HandingOver {
    std::optional<BackgroundWork::Id> work;  ///< while it is to be done
    std::weak_ptr<HandOver> awaited;
  };
  /// Stops the token where the user's callbacks may run, after this Section. `keep` goes then.
  void tell(std::stop_source source, std::shared_ptr<HandOver> keep);
  void hand_over();
  void downgrade_if_only_shared();
  void complete_all(Errc code, const std::string& cause);
  Outcome closed() const;
  Error error(Errc code, std::string_view cause) const;

  const std::shared_ptr<LockEngine> engine_;
  const Owner key_;
  const Owner owner_;
  const std::shared_ptr<LocalQueue> local_;  ///< of the engine
  const core::Seldom<LockAudience> audience_;
  const bool waits_;

  // guarded by the engine's mutex
  bool abandoned_ = false;  ///< by a thread that ended with the lock
  core::Ownership ownership_;
  std::shared_ptr<Place> place_;  ///< null only before start(); constant from the grant on
  Calls calls_;                   ///< that wait
  core::Seldom<HandingOver> handing_over_;

  // set before the grant is told, and constant from then on
  std::unique_ptr<HoldTenure> tenure_;
};

}  // namespace zklock::recipes
