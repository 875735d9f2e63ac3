// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <signal.h>
#include <sys/types.h>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/io/guardian_link.h"
#include "zklock/cli/io/process_tree.h"
#include "zklock/cli/io/unique_fd.h"

namespace zklock::cli {

/// zklock's side of its guardian; see be_guardian(). The process of zklock becomes a subreaper,
/// too. So the processes of the command become its children if the guardian dies.
///
/// Thread-safety: one thread. REQUIRES: constructed before the process has a second thread.
class Guardian {
 public:
  /// Forks the guardian. Throws: Failure.
  explicit Guardian(const GuardedCommand& command);
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  /// Closes the socket. Then the guardian ends the command, if it runs.
  ~Guardian() = default;

  int fd() const noexcept { return at_end_ ? -1 : socket_.get(); }
  pid_t pid() const noexcept { return pid_; }
  /// Returns whether the guardian has ended. Read all notices first.
  bool has_ended() const noexcept { return at_end_; }

  /// Starts the command. `variables`: "NAME=value", each with a final NUL. Returns 0, or errno.
  int start(std::string_view variables, Instant bound, Duration session_timeout,
            Duration grace) noexcept;
  /// The lock is certain until `bound`; see EndPlan::on_bound().
  void bound(Instant bound, Duration session_timeout) noexcept;
  void signal(int number) noexcept { send({.kind = Order::Kind::signal, .number = number}); }
  /// TERM is due now, and KILL after the grace; see EndPlan::on_end_requested().
  void request_end() noexcept { send({.kind = Order::Kind::end}); }
  /// KILL is due now.
  void request_kill() noexcept { send({.kind = Order::Kind::kill}); }
  /// Ends the guardian. REQUIRES: no process of the command is left.
  void finish() noexcept { send({.kind = Order::Kind::finish}); }
  /// Returns the next notice; std::nullopt if there is none now.
  std::optional<Notice> next_notice();

  /// Kills all processes of the command, but not the guardian. Returns how many there were.
  int kill_descendants() const;
  /// Kills the guardian.
  void kill_guardian() const noexcept { ::kill(pid_, SIGKILL); }
  /// For the time after has_ended(). Kills and reaps the processes that the guardian has left to
  /// this process. Returns whether none is left.
  bool sweep_orphans();
  /// Returns the notice about a process that the last sweep_orphans() could not end.
  Notice remaining_orphan() const { return remaining_notice(orphans_, LeaseClock::now()); }

 private:
  void send(const Order& order) noexcept { (void)send_message(socket_.get(), order); }

  const std::vector<pid_t> inherited_;  ///< children that this process had before the guardian
  SharedTime kill_limit_;               ///< of EndPlan
  Descendants orphans_;
  UniqueFd socket_;
  pid_t pid_ = 0;
  bool at_end_ = false;
};

}  // namespace zklock::cli
