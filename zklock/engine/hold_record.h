// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "zklock/client/port/scheduler.h"
#include "zklock/core/hold_limit.h"
#include "zklock/core/validity_period.h"
#include "zklock/engine/callback/lazy_stop_source.h"
#include "zklock/engine/lock_event_reporter.h"
#include "zklock/engine/session/engine_context.h"
#include "zklock/engine/session/engine_lock.h"
#include "zklock/fencing_token.h"
#include "zklock/hold.h"
#include "zklock/lock_event.h"

namespace zklock::detail {

/// Enforces the maximum hold time of one hold (core::HoldLimit). The clock decides whether the
/// limit has passed. Timers call `look`, which reads the clock, at the warning and at the end.
///
/// Thread-safety: any thread may call check() and valid_until(). REQUIRES for the other members:
/// the engine mutex is held. Part of its HoldRecord.
class HoldLimitTimer {
 public:
  /// The limit counts from now. Without a limit, `look` can be empty.
  HoldLimitTimer(client::Scheduler& scheduler, core::HoldLimit limit, std::function<void()> look);

  /// Returns false if the limit has passed at `now`. See ValidityPeriod::check().
  bool check(core::Instant now) noexcept { return period_.check(now); }
  /// Returns the end; Instant::max() without a limit, Instant::min() once lapsed.
  core::Instant valid_until() const noexcept { return period_.valid_until(); }

  bool is_limited() const noexcept { return limit_.longest.has_value(); }
  /// Makes the limit count from now. If `length` is set, it replaces the limit. `look` replaces the
  /// earlier function. Returns false, without an effect, if the limit has passed.
  bool renew(std::optional<core::Duration> length, std::function<void()> look);
  /// Returns whether the warning is due, and records it as reported. So it returns true at most
  /// once after the constructor and after each renew().
  bool take_warning(core::Instant now) noexcept;
  void stop() noexcept;

 private:
  void begin(core::Instant now);

  client::Scheduler& scheduler_;
  std::function<void()> look_;  ///< empty: no limit so far
  core::HoldLimit limit_;
  core::ValidityPeriod period_;
  core::Instant warning_;  ///< Instant::max(): none, or already reported
  client::TimerId warning_timer_{};
  client::TimerId end_timer_{};
};

/// The record of a hold, from its grant to its end: its state, its limits and its events.
///
/// Thread-safety: any thread may call the const members, unless a comment requires the engine
/// mutex. REQUIRES for the constructor and the other members: it is held. Part of its contender.
class HoldRecord {
 public:
  /// Is notified of the loss of a hold, within lose().
  class LossObserver {
   public:
    virtual void on_hold_lost() noexcept = 0;

   protected:
    ~LossObserver() = default;
  };
  struct Terms {
    FencingToken token;
    std::shared_ptr<core::Lease> lease;
    std::int32_t permits = 1;
    core::HoldLimit limit = {};
    core::Instant since{};  ///< the time of the grant
  };
  /// Begins the hold and reports LockEvent::Kind::acquired. `look` is called when the clock has to
  /// be read: when LockEvent::Kind::expiring is due, and when the limit ends. It must call
  /// Contender::check_clock(). Without a limit it can be empty.
  HoldRecord(EngineContext& context, const LockEventReporter& reporter, Terms terms,
             std::function<void()> look);

  FencingToken token() const noexcept { return terms_.token; }
  std::int32_t permits() const noexcept { return terms_.permits; }
  SessionId session() const noexcept { return terms_.lease->session(); }
  core::Instant since() const noexcept { return terms_.since; }

  // The members from here to loss_token() read the clock. If the lease or the hold limit has
  // passed, they record that for good. A later reply or renew() does not make the hold valid again.
  // See ValidityPeriod::check().

  /// Returns whether neither the lease nor the hold limit has passed. `now`: a reading of the clock
  /// that the caller has just made.
  bool check_valid(core::Instant now) const noexcept;
  bool check_lease() const noexcept;
  /// Returns false if the hold was released, or lost for any reason. Otherwise returns
  /// check_valid().
  bool check_held() const noexcept { return !over_.load() && check_valid(); }
  HoldState state() const noexcept;
  /// Returns LeaseClock::time_point::min() if the hold is lost.
  LeaseClock::time_point valid_until() const noexcept;
  /// Returns why the hold was lost; std::nullopt if it is valid or was released. The first reason
  /// that a query or lose() finds is final.
  std::optional<LossReason> loss_reason() const noexcept;
  /// Returns the token that is stopped at the loss. Throws std::bad_alloc.
  std::stop_token loss_token() const;
  std::stop_source loss_source() const { return loss_.get(); }
  std::stop_token release_request_token() const noexcept {
    return release_request_.get().get_token();
  }

  /// See HoldLimitTimer::renew(). `look` as in the constructor.
  bool renew(std::optional<core::Duration> length, std::function<void()> look) {
    return limit_timer_.renew(length, std::move(look));
  }
  /// Reports LockEvent::Kind::expiring if HoldLimitTimer::take_warning() says that it is due.
  void check_clock() noexcept;
  void on_suspended() noexcept;
  void on_resumed() noexcept;
  /// Reports LockEvent::Kind::release_requested. Returns the source that the caller must stop.
  std::stop_source on_release_requested();
  // lose() and release() end the hold: from then on, state() returns `lost`. They report the event.
  // REQUIRES: only one of them is called, and only once.

  /// Ends the hold by a loss. Returns what loss_reason() returns from now on. Does not stop
  /// loss_source(): that is up to the caller.
  LossReason lose(LossReason why) noexcept;
  void release() noexcept;

  // REQUIRES, although they are const: the engine mutex is held.

  /// Returns whether the hold has a maximum time. renew() can set one after the grant.
  bool is_limited() const noexcept { return limit_timer_.is_limited(); }
  /// Record that a transaction that checks the znode is open: commit_begins() when its request is
  /// sent, commit_ended() at its reply. If its outcome is unknown, it stays open. While one is
  /// open, the lock is handed off neither on this znode nor to a successor in the session.
  /// Otherwise the ensemble could execute the transaction although another contender holds the
  /// lock.
  void commit_begins() const noexcept { ++commits_; }
  void commit_ended() const noexcept { --commits_; }
  bool has_open_commits() const noexcept { return commits_ > 0; }
  /// Notifies `observer` of the loss, until remove().
  void add(LossObserver& observer) const { loss_observers_.push_back(&observer); }
  void remove(LossObserver& observer) const noexcept { std::erase(loss_observers_, &observer); }

 private:
  static constexpr int kNotLost = -1;
  bool check_valid() const noexcept { return check_valid(context_.scheduler().now()); }
  /// Returns why check_valid() returns false. REQUIRES: it does so.
  LossReason reason_of_lapse() const noexcept;
  /// Returns the first reason that was recorded.
  LossReason record_loss(LossReason why) const noexcept;
  void end(LockEvent::Kind kind, std::optional<LossReason> reason) noexcept;

  EngineContext& context_;
  const LockEventReporter& reporter_;
  const Terms terms_;
  mutable HoldLimitTimer limit_timer_;
  std::atomic<bool> over_{false};
  mutable std::atomic<int> loss_reason_{kNotLost};
  mutable int commits_ = 0;
  mutable std::vector<LossObserver*> loss_observers_;
  const LazyStopSource loss_;
  const LazyStopSource release_request_;
  bool suspended_reported_ = false;
};

}  // namespace zklock::detail
