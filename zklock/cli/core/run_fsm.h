// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "zklock/cli/core/duration.h"
#include "zklock/hold.h"

namespace zklock::cli {

/// The states of one `zklock run`, from the queue to the exit.
///
/// | state       | input                     | condition                      | next        |
/// |-------------|---------------------------|--------------------------------|-------------|
/// | queued      | on_granted                |                                | holding     |
/// |             | on_not_granted            |                                | ended       |
/// |             | on_signal                 | INT, TERM, HUP or QUIT         | withdrawing |
/// |             | on_guardian_ended         |                                | withdrawing |
/// | withdrawing | on_granted                |                                | releasing   |
/// |             | on_not_granted            |                                | ended       |
/// |             | on_signal                 | INT, TERM, HUP or QUIT         | ended       |
/// | holding     | on_lease_suffices         |                                | starting    |
/// |             | on_signal                 | INT, TERM, HUP or QUIT         | releasing   |
/// |             | on_lost                   |                                | releasing   |
/// |             | on_guardian_ended         |                                | releasing   |
/// | starting    | on_started                |                                | running     |
/// |             | on_not_started            |                                | releasing   |
/// |             | on_lost                   |                                | ending      |
/// |             | on_step                   |                                | ending      |
/// |             | on_child_ended            |                                | sweeping    |
/// |             | on_guardian_ended         |                                | orphaned    |
/// | running     | on_lost                   |                                | ending      |
/// |             | on_step                   |                                | ending      |
/// |             | on_child_ended            |                                | sweeping    |
/// |             | on_guardian_ended         |                                | orphaned    |
/// | ending      | on_not_started            |                                | releasing   |
/// |             | on_child_ended            |                                | sweeping    |
/// |             | on_guardian_ended         |                                | orphaned    |
/// | sweeping    | on_swept                  |                                | releasing   |
/// |             | on_guardian_ended         |                                | orphaned    |
/// | orphaned    | on_swept                  |                                | releasing   |
/// | releasing   | on_released               |                                | ended       |
/// | ended       |                           |                                | (final)     |
///
/// run_fsm_test.cpp compares this table with the machine. Other inputs change no state.
enum class RunState {
  queued,
  withdrawing,
  holding,
  starting,
  running,
  ending,
  sweeping,
  orphaned,
  releasing,
  ended
};

/// Returns whether the signal ends the wait for a lock: INT, TERM, HUP or QUIT.
[[nodiscard]] bool ends_wait(int signal) noexcept;

/// An action of the driver.
struct RunEffect {
  enum class Kind {
    withdraw,       ///< stop the acquire
    start,          ///< start the command
    signal,         ///< send `signal` to the command
    end,            ///< TERM now, KILL after the grace
    kill,           ///< KILL now
    kill_guardian,  ///< the guardian does not work: kill it
    release         ///< release the lock
  };
  Kind kind;
  int signal = 0;
  friend bool operator==(const RunEffect&, const RunEffect&) = default;
};
using RunEffects = std::vector<RunEffect>;

/// The machine of one `zklock run`. Pure: each input returns effects, in order.
///
/// The exit code follows the first row that applies:
///
/// | facts                                                                  | exit code            |
/// |------------------------------------------------------------------------|----------------------|
/// | the command was never started                                          | that of the cause    |
/// | the run ended the command for the sake of the lock                     | 79                   |
/// | the lock was lost before the last process of the command had ended (1) | 79                   |
/// | the command died of signal n                                           | 128 + n              |
/// | the command exited                                                     | that of the command  |
///
/// (1) If only the lease or the session has ended, the last bound proves how long the lock was
/// held. zklock may have been stopped meanwhile. So an end at or before that bound is no loss.
///
/// Thread-safety: none; pure.
class RunFsm {
 public:
  RunState state() const noexcept { return state_; }
  /// REQUIRES: the state is `ended`.
  int exit_code() const noexcept;
  /// Returns whether the command was ended for the sake of the lock.
  bool ended_for_lock() const noexcept { return ended_for_lock_; }
  std::optional<LossReason> loss() const noexcept { return loss_; }
  /// Returns whether processes of the command can run.
  bool has_processes() const noexcept;

  RunEffects on_granted();
  /// The acquire has ended without a hold.
  RunEffects on_not_granted(int exit_code);
  /// The lease is long enough to start the command.
  RunEffects on_lease_suffices();
  RunEffects on_signal(int signal);
  RunEffects on_lost(LossReason reason);
  /// KillSchedule::step() of zklock or of the guardian has returned `term` or `kill`.
  RunEffects on_step();
  /// Another client requests the release. The command gets `signal`, once; when it starts, if it
  /// does not run yet.
  RunEffects on_release_requested(int signal);
  RunEffects on_started();
  /// The program was not started. `error`: errno; 0: the time did not suffice.
  RunEffects on_not_started(int error);
  /// `status`: as of waitpid().
  RunEffects on_child_ended(int status);
  /// No process of the command is left since `at`. `bound`: the last one. `loss`: if the lock is
  /// lost by now.
  RunEffects on_swept(Instant at, Instant bound, std::optional<LossReason> loss);
  RunEffects on_guardian_ended();
  /// KILL was due two seconds ago, and the guardian has sent nothing since.
  RunEffects on_overdue();
  RunEffects on_released();

 private:
  RunEffects release_with(int exit_code);
  bool has_command() const noexcept;

  RunState state_ = RunState::queued;
  std::optional<int> exit_code_;  ///< set if not that of the command
  std::optional<int> status_;     ///< of the command
  std::optional<LossReason> loss_;
  bool ended_for_lock_ = false;
  bool release_was_requested_ = false;
  std::vector<int> early_signals_;  ///< for the command, before it runs
};

}  // namespace zklock::cli
