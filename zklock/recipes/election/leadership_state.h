// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cassert>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "zklock/core/election_fsm.h"
#include "zklock/engine/session/fork_guard.h"
#include "zklock/hold.h"
#include "zklock/leadership.h"
#include "zklock/recipes/election/proclamation_writer.h"

namespace zklock::detail {

/// One leadership: its hold, and the stop token that reports its end.
///
/// Thread-safety: any thread may call the const members and stop(). Only the candidate calls the
/// others. REQUIRES for the constructor, end() and delay_delete(): the engine mutex is held.
/// REQUIRES for notify_loss() and release(): it is not.
class LeadershipState : public std::enable_shared_from_this<LeadershipState> {
 public:
  using Attempt = core::ElectionFsm::Attempt;

  /// REQUIRES: the engine mutex is held; `hold` is a hold of `leader`.
  LeadershipState(Attempt attempt, const std::shared_ptr<Contender>& leader, Hold hold);

  Attempt attempt() const noexcept { return attempt_; }
  /// Calls `on_loss` once, when the hold is lost. If it is lost already, calls `on_loss` before
  /// returning. Never calls it after this object is destroyed. Called at most once.
  void notify_loss(std::function<void()> on_loss);
  /// See Contender::delay_delete(). REQUIRES: the engine mutex is held; before release().
  std::shared_ptr<void> delay_delete();
  /// Makes state() return `lost` from now on. The lock is retained until release().
  void end() noexcept { ended_ = true; }
  /// Stops the token that end_token() returns. The user's callbacks run on this thread.
  void stop() {
    assert(client::may_block_here());
    over_.request_stop();
  }
  /// REQUIRES: end() was called; called at most once.
  void release() noexcept;

  FencingToken token() const noexcept { return token_; }
  const std::string& node() const noexcept { return node_; }
  HoldState state() const noexcept;
  LeaseClock::time_point valid_until() const noexcept;
  /// See Leadership::end_token().
  std::stop_token end_token() const noexcept;
  /// See Leadership::loss_reason().
  std::optional<LossReason> loss_reason() const noexcept;
  std::stop_token release_request_token() const noexcept { return requested_; }
  /// Returns the writer of the znode in which this leader proclaims. Throws Error(lock_lost) if the
  /// leadership has ended, or Error(forked). The error names `operation`.
  std::shared_ptr<ProclamationWriter> proclamation_writer(const char* operation) const;

  /// Returns the client. Its executor calls the handlers of proclaim(). Throws Error(closed) if the
  /// client was closed or destroyed, or Error(forked). The error names `operation`.
  std::shared_ptr<EngineContext> core(const char* operation) const;

  /// Returns the public object for this leadership.
  Leadership leadership() const { return Leadership(shared_from_this()); }

 private:
  struct OnLoss {
    std::function<void()> call;
    // A copy: the call may destroy the LeadershipState, and this object with it.
    void operator()() const {
      const auto copy = call;
      copy();
    }
  };
  bool forked() const noexcept { return fork_guard_.forked(); }
  std::string path() const { return node_.substr(0, node_.rfind('/')); }

  const Attempt attempt_;
  const FencingToken token_;
  const std::string node_;
  const std::stop_token lost_;
  const std::stop_token requested_;
  const std::weak_ptr<EngineContext> core_;
  const ForkGuard fork_guard_;
  std::atomic<bool> ended_{false};
  std::stop_source over_;

  /// Null after release(), and used only by it.
  std::shared_ptr<ProclamationWriter> retained_writer_;
  Hold hold_;  ///< empty after release()
  /// Expired after release(). Queries reach the leader by it, without a mutex.
  const std::weak_ptr<ProclamationWriter> proclamation_writer_;
  static constexpr int kNotLost = -1;
  std::atomic<int> loss_reason_{kNotLost};  ///< set by release()

  // Last, so that it is destroyed first: no call begins after that.
  std::optional<std::stop_callback<OnLoss>> on_loss_;
};

}  // namespace zklock::detail
