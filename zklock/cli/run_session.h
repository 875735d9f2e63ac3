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

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/failure.h"
#include "zklock/cli/core/kill_schedule.h"
#include "zklock/cli/core/run_fsm.h"
#include "zklock/cli/held_lock.h"
#include "zklock/cli/io/controlling_terminal.h"
#include "zklock/cli/io/events.h"
#include "zklock/cli/io/guardian.h"
#include "zklock/cli/io/report_file.h"
#include "zklock/cli/run_options.h"
#include "zklock/cli/run_report.h"
#include "zklock/client.h"

namespace zklock::cli {

class Run;

/// Makes the runs of one command. They have the signals, the guardian and the client in common.
/// These are made in this order, because the client has threads.
///
/// Thread-safety: one thread. REQUIRES: constructed while the process has one thread.
class RunSession {
 public:
  /// `is_repeated`: run() may be called again. Throws: Failure, Error.
  RunSession(const RunOptions& options, bool is_repeated);
  RunSession(const RunSession&) = delete;
  RunSession& operator=(const RunSession&) = delete;
  ~RunSession() = default;

  Client& client() noexcept { return client_; }
  /// Makes one Run, and returns its facts at its end. Writes the report, if one is wanted. A
  /// repeated run that was not granted does not overwrite the report of an earlier one.
  /// `on_state`: called with the state after each input of the run; does not throw; may be empty.
  RunFacts run(LockFunction acquire, std::function<void(RunState)> on_state = {});
  /// Returns whether the guardian has ended. Then no further command can be started.
  bool has_guardian_ended() const noexcept { return guardian_.has_ended(); }
  /// Blocks for that time, or until the guardian ends. A signal that ends the session is returned
  /// at once.
  std::optional<int> pause(Duration time);
  /// Ends the guardian, and then the command: see end_with().
  int end(int exit_code);

 private:
  friend class Run;

  /// Services take HUP as an order to read their settings again. If there is a terminal, HUP means
  /// that it was closed.
  bool ignores_hangup() const noexcept { return is_repeated_ && !terminal_.exists(); }

  const RunOptions& options_;
  const bool is_repeated_;
  bool has_report_ = false;
  const std::unique_ptr<ReportFile> report_;  ///< null: none is wanted
  SignalReader signals_;
  const ControllingTerminal terminal_;
  Guardian guardian_;
  Client client_;
  Waiter waiter_;
};

/// Drives one `zklock run`, or one leadership of `zklock elect`: it carries out the effects of
/// RunFsm. Each turn of its loop first reads the guardian's notices, then signals and tasks, and
/// then looks at the clock. So an end of the command that is known already is not taken for a loss.
///
/// Thread-safety: one thread.
class Run {
 public:
  /// REQUIRES: the session outlives the run, and its guardian has no command.
  Run(RunSession& session, LockFunction acquire, std::function<void(RunState)> on_state);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() = default;

  /// Runs until the command has ended and the lock is released. Returns the facts. An exception
  /// ends the process at once. No destructor may close the client while the command runs: that
  /// would release the lock.
  RunFacts go() noexcept;

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
  RunSession& session_;
  const std::function<void(RunState)> on_state_;  ///< see RunSession::run()
  const std::shared_ptr<TaskQueue> tasks_ = std::make_shared<TaskQueue>();
  std::stop_source stop_;
  LockFunction acquire_;
  bool acquires_ = false;
  Instant withdrawn_at_{};
  Instant connect_until_{};
  RunFsm fsm_;
  std::optional<KillSchedule> plan_;
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
