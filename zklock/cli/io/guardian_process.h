// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/types.h>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/end_plan.h"
#include "zklock/cli/io/events.h"
#include "zklock/cli/io/guardian_link.h"
#include "zklock/cli/io/process_tree.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

/// The command that a guardian starts.
struct GuardedCommand {
  std::string program;                 ///< resolved path
  std::vector<std::string> arguments;  ///< with the name of the program
  int term_signal = SIGTERM;
  sigset_t signal_mask{};         ///< of the command
  bool ignores_children = false;  ///< SIGCHLD is ignored by the command
  bool in_own_group = true;       ///< false: in the process group of zklock
  bool is_repeated = false;       ///< zklock starts it again after its end
  std::string said_if_killed;     ///< line on stderr if zklock was killed
};

/// Returns the notice `remaining` about a process that KILL has not ended. Its number is 0 if there
/// is none.
Notice remaining_notice(const Descendants& found, Instant now);

/// The guardian: a process that ends the command when zklock cannot. It is the parent of the
/// command, and the subreaper of all its descendants. It obeys EndPlan by its own clock.
///
/// | order         | content              | effect                                       |
/// |---------------|----------------------|----------------------------------------------|
/// | start         | variables, grace     | starts the command, if EndPlan::may_start()  |
/// |               |                      | and no process of an earlier start is left   |
/// | wake          |                      | a turn, because the kill limit is earlier    |
/// | signal        | number               | sends it to the command                      |
/// | end           |                      | EndPlan::on_end_requested()                  |
/// | kill          |                      | EndPlan::on_kill_requested()                 |
/// | finish        |                      | ends the guardian; sent after `swept`        |
/// | (end of file) |                      | as `end`; the guardian ends after the sweep  |
///
/// | notice        | content              | sent when                                    |
/// |---------------|----------------------|----------------------------------------------|
/// | started       | pid                  | exec has succeeded                           |
/// | not_started   | errno; 0: too late   | fork or exec has failed                      |
/// | stepped       | term or kill, delay  | EndPlan::step() was carried out              |
/// | ended         | status, time         | the command has ended                        |
/// | swept         | time                 | no descendant is left                        |
/// | remaining     | pid, name, uid       | each 500 ms or so while killing              |
///
/// If the command is repeated, zklock may send another `start` after `swept` or `not_started`. The
/// guardian then retains the standard input and output. Otherwise a pipe would not end with the
/// command.
///
/// zklock writes the kill limit of EndPlan to memory that both share. In one turn, the guardian
/// reads the clock, then all orders, and then the limit. So a limit that is read is as new as the
/// time. A
/// `start` and the end of file that are read together start nothing.
///
/// Thread-safety: none. REQUIRES: the process has one thread and blocks all signals.
class GuardianProcess {
 public:
  GuardianProcess(const GuardedCommand& command, UniqueFd socket, pid_t zklock,
                  const SharedTime& kill_limit);
  /// Runs until zklock needs the guardian no more. No process of the command is left then.
  void run();

 private:
  void read_orders();
  void obey(const ReceivedOrder& received);
  void start(const ReceivedOrder& received);
  [[noreturn]] void become_command(std::string variables, int result_fd);
  void read_exec_result();
  void reap();
  void on_child_ended(int status);
  void on_swept();
  void step(Instant now);
  void report_remaining(const Descendants& found, Instant now);
  void send(const Notice& notice);
  void send_queued();
  bool is_done() const noexcept;
  Instant next_turn() const noexcept;

  const GuardedCommand& command_;
  UniqueFd socket_;
  const pid_t zklock_;
  const pid_t own_pid_;
  const SharedTime& kill_limit_;
  UniqueFd children_;     ///< signalfd for SIGCHLD
  UniqueFd exec_result_;  ///< while exec has not ended
  Waiter waiter_;
  std::optional<EndPlan> plan_;  ///< set by `start`
  pid_t child_ = 0;              ///< the command, until it was reaped
  bool has_descendants_ = false;
  bool at_end_ = false;  ///< end of file: zklock has ended
  bool finish_ = false;
  bool kill_said_ = false;
  Instant remaining_said_{};
  std::vector<Notice> queued_;  ///< the socket was full
};

}  // namespace zklock::cli
