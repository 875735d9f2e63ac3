// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <signal.h>

#include "zklock/cli/core/end_plan.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/run_fsm.h"
#include "zklock/cli/held_lock.h"
#include "zklock/cli/io/events.h"
#include "zklock/cli/io/guardian.h"
#include "zklock/cli/run_options.h"
#include "zklock/cli/run_report.h"
#include "zklock/client.h"

namespace zklock::cli {

/// The surroundings of a Run, which outlive it.
struct RunParts {
  Client& client;
  Guardian& guardian;
  SignalReader& signals;
  bool shares_terminal = false;  ///< the command is in the foreground group
  bool ignores_hangup = false;   ///< while no process of the command runs
  /// Called with the state after each of its inputs. Does not throw.
  std::function<void(RunState)> on_state = {};
};

/// Drives one `zklock run`, or one leadership of `zklock elect`: it carries out the effects of
/// RunFsm. Each turn of its loop first reads the guardian's notices, then signals and tasks, and
/// then looks at the clock. So an end of the command that is known already is not taken for a loss.
///
/// Thread-safety: one thread.
class Run {
 public:
  /// REQUIRES: the guardian was made before the process had a second thread, and has no command.
  Run(const RunOptions& options, RunParts parts, LockFunction acquire);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() = default;

  /// Runs until the command has ended and the lock is released. Returns the exit code. An exception
  /// ends the process at once. No destructor may close the client while the command runs: that
  /// would release the lock.
  int go() noexcept;
  const RunFacts& facts() const noexcept { return facts_; }

 private:
  using Callback = std::stop_callback<std::function<void()>>;

  void turn();
  Instant next_turn() const;
  void carry_out(const RunEffects& effects);
  void carry_out(const RunEffect& effect);

  /// Ends a withdrawal that lasts longer than the grace.
  void look_at_withdrawal(Instant now);
  void connect();
  void acquire();
  void on_acquired(HeldLock hold, const std::exception_ptr& error);
  void on_not_acquired();
  void fail(const Failure& failure);
  std::string check_timeout();

  void on_notice(const Notice& notice);
  void on_stepped(const Notice& notice);
  void on_remaining(const Notice& notice);
  void on_signal(const ReceivedSignal& signal);
  /// Returns whether a signal of the terminal has reached the command, too.
  bool has_received(int signal) const noexcept;
  void on_release_requested();
  void look_at_hold(Instant now);
  void step_plan(Instant now);
  void sweep(Instant now);
  void start();
  void on_not_started(int error);
  void release();
  bool says() const noexcept { return !options_.settings.quiet; }
  void say(const std::string& text) const { cli::say(options_, text); }
  void say_about_to_be_lost();

  const RunOptions& options_;
  const RunParts parts_;
  const std::shared_ptr<TaskQueue> tasks_ = std::make_shared<TaskQueue>();
  Waiter waiter_;
  std::stop_source stop_;
  LockFunction acquire_;
  bool acquires_ = false;
  Instant withdrawn_at_{};
  Instant connect_until_{};
  RunFsm fsm_;
  std::optional<EndPlan> plan_;
  HeldLock hold_;
  /// Opened at the release. The callback of a loss waits for it, so the client does not delete the
  /// znode while processes of the command run.
  const std::shared_ptr<std::latch> gate_ = std::make_shared<std::latch>(1);
  std::optional<Callback> on_loss_;
  std::optional<Callback> on_request_;
  Duration timeout_{};  ///< the last session timeout
  bool said_lost_ = false;
  Instant notice_at_{};     ///< of the last notice
  Instant remaining_at_{};  ///< of the last line about processes that remain
  RunFacts facts_;
};

}  // namespace zklock::cli
