// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "zklock/core/election_fsm.h"
#include "zklock/deadline.h"
#include "zklock/engine/guarded_commit.h"
#include "zklock/engine/session/process.h"
#include "zklock/error.h"
#include "zklock/hold.h"
#include "zklock/leadership.h"

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
    end_source_.request_stop();
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
  std::stop_token release_request_token() const noexcept { return release_requested_; }
  /// Returns the contender that leads. Throws Error(lock_lost) if the leadership has ended, or
  /// Error(forked). The error names `operation`.
  std::shared_ptr<Contender> leader(const char* operation) const;
  /// Returns the client. Its executor calls the handlers of proclaim(). Throws Error(closed) if the
  /// client was closed or destroyed, or Error(forked). The error names `operation`.
  std::shared_ptr<EngineContext> context(const char* operation) const;
  /// Returns the public object for this leadership.
  Leadership leadership() const { return Leadership(shared_from_this()); }

  /// Returns the path of the znode in which this leader proclaims; see core/child_nodes.h.
  const std::string& proclaimed_node() const noexcept { return proclaimed_node_; }
  /// Returns the number of a new proclamation. Numbers rise.
  std::uint64_t begin_proclamation() const noexcept { return ++proclamations_; }
  bool is_newest(std::uint64_t proclamation) const noexcept {
    return proclamation == proclamations_;
  }

 private:
  bool forked() const noexcept { return fork_guard_.forked(); }
  std::string path() const { return node_.substr(0, node_.rfind('/')); }

  const Attempt attempt_;
  const FencingToken token_;
  const std::string node_;
  const std::string proclaimed_node_;
  const std::stop_token lost_;
  const std::stop_token release_requested_;
  const std::weak_ptr<EngineContext> context_;
  const ForkGuard fork_guard_;
  std::atomic<bool> ended_{false};
  std::stop_source end_source_;
  mutable std::atomic<std::uint64_t> proclamations_{0};

  Hold hold_;  ///< empty after release(), and used only by it
  /// Expires after release(). Queries reach the leader by it, without a mutex.
  const std::weak_ptr<Contender> leader_;
  static constexpr int kNotLost = -1;
  std::atomic<int> loss_reason_{kNotLost};  ///< set by release()

  // Last, so that it is destroyed first: no call begins after that.
  std::optional<std::stop_callback<std::function<void()>>> on_loss_;
};

/// The write of one value to the proclaimed znode. Two transactions are sent back to back, each
/// guarded by the lock znode. The first creates the proclaimed znode. It usually fails, because
/// that znode exists. The second writes the value. Calls do not wait for each other. Only the
/// newest call repeats its transactions, so the values are written in the order of the calls. The
/// proclaimed znode is deleted together with the lock znode, in one transaction. So no client sees
/// the leader without the value that it has proclaimed.
///
/// | outcomes, when both are known                               | becomes                              |
/// |-------------------------------------------------------------|--------------------------------------|
/// | no proclaimed znode, and the first transaction has failed   | over: error of the first transaction |
/// | with a permanent error                                      |                                      |
/// | no proclaimed znode, in any other case: the first           | newest call: both are sent again; at |
/// | transaction was lost, or another client deleted the znode   | most three times in all. Any other   |
/// |                                                             | call: over, no_node                  |
/// | anything else                                               | over: outcome of the second          |
///
/// Thread-safety: any thread may call entry(), start() and withdraw(). REQUIRES for start() and
/// withdraw(): the engine mutex is not held. REQUIRES for all others: it is held.
class PendingProclamation : public std::enable_shared_from_this<PendingProclamation> {
 public:
  using Done = GuardedCommit::Done;
  static constexpr const char* kOperation = "proclaim";

  /// See GuardedCommit::start(). REQUIRES: `leader` is the contender of `leadership`.
  static std::shared_ptr<PendingProclamation> start(
      std::shared_ptr<Contender> leader, std::shared_ptr<const LeadershipState> leadership,
      std::string value, Deadline deadline, Done done);
  /// Withdraws what has not been sent yet. `done` is still called.
  void withdraw();

  PendingProclamation(std::shared_ptr<Contender> leader,
                      std::shared_ptr<const LeadershipState> leadership, std::string value,
                      Deadline deadline, Done done);
  EngineLock::Entry entry() const noexcept { return leader_->path_lock().context().entry(); }

 private:
  GuardedWrites guarded(client::request::Write write) const;
  /// Begins a commit of `writes`. Its outcome goes to on_answered() with `error`.
  std::shared_ptr<GuardedCommit> begin(const GuardedWrites& writes,
                                       std::optional<Error> PendingProclamation::*error);
  void send();
  void on_answered(std::optional<Error> PendingProclamation::*of, std::optional<Error> error);
  void end(const std::optional<Error>& outcome);

  const std::shared_ptr<Contender> leader_;
  const std::shared_ptr<const LeadershipState> leadership_;
  const std::uint64_t number_;  ///< of this call, among those of the leadership
  const std::string value_;
  const Deadline deadline_;
  Done done_;  ///< null after the end
  int attempts_left_ = 3;
  bool given_up_ = false;
  int outstanding_ = 0;  ///< transactions whose outcomes are awaited
  std::optional<Error> create_error_;
  std::optional<Error> write_error_;
  std::shared_ptr<GuardedCommit> creating_;  ///< null: not sent, see send()
  std::shared_ptr<GuardedCommit> writing_;
};

}  // namespace zklock::detail
